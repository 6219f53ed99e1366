# Use: source("@script@"); scored <- cbind(data, score_rows(data))
score_rows <- function(data, table = "@table@") {
  terms <- read.csv(table, encoding = "UTF-8", na.strings = character(0), check.names = FALSE,
                    colClasses = rep(c("character", "numeric"), c(4, 5)))
  places <- match("", terms$class) # the classes, and the number of skipped attributes
  classes <- terms$class[seq_len(places - 1)]
  rows <- nrow(data)
  each <- seq_len(rows)
  first <- terms[seq(1, nrow(terms), places), ] # one row per cell
  read <- function(x) { # numbers, or else texts
    if (is.logical(x)) c("false", "true")[x + 1] else if (is.numeric(x)) as.numeric(x) else enc2utf8(as.character(x))
  }
  number <- function(x, words) { # a text that spells no number is missing; categories take no word for a number
    if (is.numeric(x)) return(x)
    spelled <- which(nchar(x, "bytes") <= 64 & grepl("^@spelled@$", x, useBytes = TRUE))
    replace(unname(words[match(x, names(words))]), spelled, as.numeric(x[spelled]))
  }
  words <- c(@words@)
  none <- rep(NA_character_, rows)
  look_up <- function(cells, x, texts = none) { # a row's terms are those of the last cell that it matches
    match <- first$match[cells]
    value <- suppressWarnings(as.numeric(first$value[cells]))
    found <- rep(1L, rows)
    steps <- which(match %in% c("from", "log", "line"))
    here <- which(!is.na(x))
    if (length(steps)) found[here] <- steps[1] + findInterval(x[here], value[steps[-1]])
    listed <- which(match %in% c("number", "missing"))
    place <- ifelse(is.na(x), NA, match(x, value[listed]))
    found <- ifelse(is.na(place), found, listed[place])
    place <- ifelse(is.na(texts), NA, match(texts, first$value[cells][match == "text"]))
    found <- ifelse(is.na(place), found, which(match == "text")[place])
    logs <- match[found] == "log"
    x[logs] <- log1p(x[logs])
    part <- function(name) matrix(terms[[name]][outer((cells[found] - 1) * places, seq_len(places), "+")], rows)
    d <- x - part("center")
    curved <- pmax(-part("limit"), pmin(part("limit"), part("term") + (part("slope") + part("curve") * d) * d))
    ifelse(is.na(part("slope")), part("term"), curved)
  }
  sums <- matrix(first$match[1] == "", rows, places) + rep(terms$term[seq_len(places)], each = rows)
  for (cells in split(seq_along(first$match), factor(first$attribute, setdiff(first$attribute, "")))) {
    x <- data[[first$attribute[cells[1]]]]
    if (is.null(x)) stop("missing column ", first$attribute[cells[1]])
    x <- read(x)
    matches <- first$match[cells]
    numbers <- number(x, if (any(matches == "from")) words else numeric())
    sums <- sums + look_up(cells, numbers, if (is.character(x) && any(matches == "text")) x else none)
  }
  scores <- sums[, -places, drop = FALSE]
  if (any(first$match == "line")) { # probabilities follow the difference of the largest class's score and the best other
    share <- terms[terms$match == "others", ][-places, ]
    largest <- which(is.na(share$slope))
    rest <- replace(scores, cbind(each, largest), -Inf)
    best <- cbind(each, max.col(rest, "first"))
    odds <- look_up(which(first$match == "line"), rest[best] - scores[, largest])
    pull <- scores * rep(share$slope, each = rows) + rep(share$term, each = rows)
    pull[, largest] <- -Inf
    pull <- pmax(pull - apply(pull, 1, max), -300)
    left <- rowSums(replace(replace(exp(pull), best, 0), cbind(each, largest), 0))
    scores <- pmin(odds[, -places, drop = FALSE] + log(1 - 2^-20), odds[, places] + pull - log(left))
    scores[best] <- odds[best]
    scores[, largest] <- 0
  }
  weights <- exp(scores - apply(scores, 1, max))
  shares <- structure(weights / rowSums(weights), dimnames = list(NULL, paste0("probability_", classes)))
  data.frame(predicted = classes[max.col(shares, "first")], shares, skipped = sums[, places],
             check.names = FALSE, row.names = attr(data, "row.names"))
}
