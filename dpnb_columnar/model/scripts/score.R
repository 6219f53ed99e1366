# Use: source("@script@"); scored <- cbind(data, score_rows(data))
score_rows <- function(data, table = "@table@") {
  terms <- read.csv(table, encoding = "UTF-8", na.strings = character(0), check.names = FALSE,
                    colClasses = rep(c("character", "numeric"), c(4, 5)))
  places <- match("", terms$class) # the classes, and the number of skipped attributes
  classes <- terms$class[seq_len(places - 1)]
  rows <- nrow(data)
  first <- terms[seq(1, nrow(terms), places), ] # one row per cell
  begins <- first$match %in% c("other", "others") | (first$match == "line" & first$value == "")
  number <- function(x) { # a text that spells no number is missing
    if (is.factor(x)) x <- as.character(x)
    if (inherits(x, c("Date", "POSIXt"))) return(rep(NA_real_, rows))
    if (!is.character(x)) return(as.numeric(x))
    spelled <- which(nchar(x, "bytes") <= 64 & grepl("^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+) *$", x, useBytes = TRUE))
    replace(rep(NA_real_, rows), spelled, as.numeric(x[spelled]))
  }
  text <- function(x) {
    if (is.logical(x)) return(c("false", "true")[x + 1])
    if (inherits(x, "Date")) return(format(x, "%Y-%m-%d"))
    if (is.factor(x) || is.character(x)) enc2utf8(as.character(x)) else rep(NA_character_, rows)
  }
  look_up <- function(cells, x, texts) { # a matrix of the last matching cell's terms
    match <- first$match[cells]
    found <- rep(1L, rows)
    value <- suppressWarnings(as.numeric(first$value[cells]))
    steps <- which(match %in% c("from", "log", "line"))
    here <- which(!is.na(x))
    if (length(steps)) found[here] <- steps[1] + findInterval(x[here], value[steps[-1]])
    for (kind in c("number", "missing")) {
      same <- match(x, value[match == kind])
      found <- ifelse(is.na(x) | is.na(same), found, which(match == kind)[same])
    }
    same <- match(texts, first$value[cells][match == "text"])
    found <- ifelse(is.na(texts) | is.na(same), found, which(match == "text")[same])
    logs <- match[found] == "log"
    x[logs] <- log1p(x[logs])
    at <- outer((cells[found] - 1) * places, seq_len(places), "+")
    part <- function(name) matrix(terms[[name]][at], rows)
    d <- x - part("center")
    curved <- pmax(-part("limit"), pmin(part("limit"), part("term") + (part("slope") + part("curve") * d) * d))
    ifelse(is.na(part("slope")), part("term"), curved)
  }
  sums <- matrix(0, rows, places)
  for (cells in split(seq_along(begins), cumsum(begins))) {
    name <- first$attribute[cells[1]]
    if (first$match[cells[1]] %in% c("others", "line")) next
    if (name != "" && !(name %in% names(data))) stop("missing column ", name)
    x <- if (name == "") rep(NA_real_, rows) else data[[name]]
    is_text <- first$value[cells[1]] != "number" || any(first$match[cells] == "number")
    sums <- sums + look_up(cells, number(x), if (is_text) text(x) else rep(NA_character_, rows))
  }
  scores <- sums[, -places, drop = FALSE]
  if (any(first$match == "line")) { # the classes but the largest share what the score difference gives them
    share <- terms[terms$match == "others", ][-places, ]
    largest <- which(is.na(share$slope))
    each <- seq_len(rows)
    rest <- replace(scores, cbind(each, largest), -Inf)
    best <- max.col(rest, "first")
    odds <- look_up(which(first$match == "line"), rest[cbind(each, best)] - scores[, largest], rep(NA_character_, rows))
    pull <- sweep(sweep(scores, 2, share$slope, "*"), 2, share$term, "+")
    pull[, largest] <- -Inf
    pull <- pmax(pull - apply(pull, 1, max), -300)
    weight <- exp(pull)
    weight[cbind(each, best)] <- weight[, largest] <- 0
    scores <- pmin(odds[, -places, drop = FALSE] + log(1 - 2^-20), odds[, places] + pull - log(rowSums(weight)))
    scores[cbind(each, best)] <- odds[cbind(each, best)]
    scores[, largest] <- 0
  }
  weights <- exp(scores - do.call(pmax, lapply(seq_along(classes), function(k) scores[, k])))
  shares <- weights / rowSums(weights)
  colnames(shares) <- paste0("probability_", classes)
  data.frame(predicted = classes[max.col(shares, "first")], shares, skipped = sums[, places],
             check.names = FALSE, row.names = attr(data, "row.names"))
}
