* Use: with the rows as the active data set, INSERT FILE='@script@' ENCODING='UTF8'.
* Rows of the table become statements of two syntax files, which are run and erased.
DATASET COPY nb_rows.
GET DATA /TYPE=TXT /FILE='@table@' /ENCODING='UTF8' /FIRSTCASE=2 /DELIMITERS=',' /QUALIFIER='"'
  /VARIABLES=name A64 match A8 value A@longest@ class A@longest@ term A30 center A30 slope A30 curve A30 limit A30.
STRING k (A8) /x (A48) /t (A250) /is class_text (A@quoted@).
COMPUTE #place = MOD($CASENUM - 1, @places@) + 1.
COMPUTE k = LTRIM(STRING(#place, F8)).
COMPUTE x = "#x".
IF (match = "log") x = "LN(1 + #x)".
COMPUTE x = CONCAT("(", RTRIM(x), " - (", RTRIM(center), "))").
COMPUTE t = term.
IF (slope <> "") t = CONCAT("MAX(-", RTRIM(limit), ", MIN(", RTRIM(limit), ", ", RTRIM(term), " + (", RTRIM(slope),
  " + (", RTRIM(curve), ") * ", RTRIM(x), ") * ", RTRIM(x), "))").
COMPUTE is = CONCAT("#x = ", RTRIM(value)).
IF (ANY(match, "from", "log", "line")) is = CONCAT("#x >= ", RTRIM(value)).
IF (value = "") is = "NOT SYSMIS(#x)".
IF (match = "text") is = CONCAT(RTRIM(name), " = '", REPLACE(RTRIM(value), "'", "''"), "'").
COMPUTE class_text = CONCAT("'", REPLACE(RTRIM(class), "'", "''"), "'").
DO IF match = "other".
  DO IF #place = 1 AND value = "number".
    WRITE OUTFILE='@script@.1' /"COMPUTE #x = VALUE(" name ").".
  ELSE IF #place = 1 AND value = "both".
    WRITE OUTFILE='@script@.1' /"COMPUTE #text = LTRIM(" name ")." /"COMPUTE #rest = UPCASE(#text)."
      /"COMPUTE #power = INDEX(#rest, 'E')." /"COMPUTE #x = $SYSMIS."
      /"LOOP #i = 1 TO 9." /"COMPUTE #rest = REPLACE(#rest, STRING(#i, F1), '0')." /"END LOOP."
      /"LOOP #i = 1 TO 6." /"COMPUTE #rest = REPLACE(#rest, '00', '0')." /"END LOOP."
      /"IF (ANY(SUBSTR(#rest, 1, 1), '+', '-')) #rest = SUBSTR(#rest, 2)."
      /"DO IF LENGTH(RTRIM(#text)) <= 40 AND ANY(#rest, '0', '0.', '0.0', '.0', '0E0', '0.E0', '0.0E0', '.0E0',"
      /"  '0E+0', '0.E+0', '0.0E+0', '.0E+0', '0E-0', '0.E-0', '0.0E-0', '.0E-0')."
      /"COMPUTE #x = NUMBER(#text, F40)."
      /"IF (#power > 0 AND ABS(NUMBER(SUBSTR(#text, #power + 1), F40)) >= 100) #x = $SYSMIS." /"END IF.".
  ELSE IF #place < @places@ AND name = "".
    WRITE OUTFILE='@script@.1' /"COMPUTE #name" k "=" /class_text "."
      /"VARIABLE LABELS nb_probability_" k /class_text ".".
    WRITE OUTFILE='@script@.2' /"* The calibration line.".
  END IF.
  WRITE OUTFILE='@script@.1' /"COMPUTE #s" k "= #s" k "+ #t" k "." /"COMPUTE #t" k "= " t ".".
ELSE IF match = "others" AND slope <> "".
  WRITE OUTFILE='@script@.1' /"COMPUTE #a" k "= " term "." /"COMPUTE #e = " slope ".".
ELSE IF match = "others" AND #place < @places@.
  WRITE OUTFILE='@script@.1' /"COMPUTE #l = " k ".".
ELSE IF match = "line".
  WRITE OUTFILE='@script@.2' /"IF (" is ")" /"  #t" k "= " t ".".
ELSE IF match <> "others".
  WRITE OUTFILE='@script@.1' /"IF (" /is /") #t" k "=" /" " t ".".
END IF.
EXECUTE.
DATASET ACTIVATE nb_rows.
STRING nb_predicted (A@width@) /#text #rest (A255).
VECTOR nb_probability_ (@classes@).
VECTOR #name (@classes@, A@width@).
VECTOR #s #t #a (@places@).
COMPUTE #l = 0.
COMPUTE #o = 0.
COMPUTE #e = 0.
LOOP #k = 1 TO @places@.
  COMPUTE #s(#k) = 0.
  COMPUTE #t(#k) = 0.
END LOOP.
INSERT FILE='@script@.1' ENCODING='UTF8'.
LOOP #k = 1 TO @places@.
  COMPUTE #s(#k) = #s(#k) + #t(#k).
END LOOP.
COMPUTE nb_skipped = #s(@places@).
COMPUTE #x = $SYSMIS.
COMPUTE #b = -8e307.
COMPUTE #top = -8e307.
DO IF #l > 0.
  LOOP #k = 1 TO @classes@.
    DO IF #k <> #l.
      COMPUTE #top = MAX(#top, #a(#k) + #e * #s(#k)).
      IF (#s(#k) > #b) #o = #k.
      COMPUTE #b = MAX(#b, #s(#k)).
    END IF.
  END LOOP.
  COMPUTE #x = #b - #s(#l).
END IF.
INSERT FILE='@script@.2' ENCODING='UTF8'.
DO IF #l > 0.
  COMPUTE #sum = 0.
  LOOP #k = 1 TO @classes@.
    COMPUTE #a(#k) = MAX(#a(#k) + #e * #s(#k) - #top, -300).
    IF (#k <> #l AND #k <> #o) #sum = #sum + EXP(#a(#k)).
  END LOOP.
  LOOP #k = 1 TO @classes@.
    COMPUTE #s(#k) = 0.
    IF (#k = #o) #s(#k) = #t(#k).
    IF (#k <> #l AND #k <> #o)
      #s(#k) = MIN(#t(#k) + LN(1 - 2**-20), #t(@places@) + #a(#k) - LN(#sum)).
  END LOOP.
END IF.
COMPUTE #top = -8e307.
COMPUTE #sum = 0.
LOOP #k = 1 TO @classes@.
  COMPUTE #top = MAX(#top, #s(#k)).
END LOOP.
LOOP #k = 1 TO @classes@.
  COMPUTE #sum = #sum + EXP(MAX(#s(#k) - #top, -700)).
END LOOP.
COMPUTE #b = -1.
LOOP #k = 1 TO @classes@.
  COMPUTE nb_probability_(#k) = EXP(MAX(#s(#k) - #top, -700)) / #sum.
  IF (nb_probability_(#k) > #b) nb_predicted = #name(#k).
  COMPUTE #b = MAX(#b, nb_probability_(#k)).
END LOOP.
FORMATS nb_skipped (F5.0).
DATASET NAME nb_scored.
EXECUTE.
ERASE FILE='@script@.1'.
ERASE FILE='@script@.2'.
