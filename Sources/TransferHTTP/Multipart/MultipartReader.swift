/// Reads a stream of multipart/form-data (RFC 7578; RFC 2046, section 5.1). No I/O: bytes come in as an argument, steps
/// go out as values.
///
/// A caller passes its bytes, takes one step, drops the consumed bytes, and repeats this until `needsMore`. Then it
/// passes the remaining bytes, followed by more. The steps do not depend on where the stream is cut, except that
/// content may be divided into other pieces.
///
/// ```
///   preamble ──boundary──► head ──part──► content ──boundary: endOfPart──► head
///                                                 └─last boundary: endOfPart──► epilogue ──end──► over
/// ```
///
/// Forms that readers interpret differently are refused: those with blanks after a boundary, with lines that begin with
/// a boundary and continue, with a boundary directly after a head, and with line ends other than CR LF outside content.
package struct MultipartReader: Sendable {
    /// Bytes that a caller must be able to pass at once.
    package static let window =
        MultipartLimits.surroundings + MultipartBoundary.lengths.upperBound + MultipartLimits.head + 8

    enum State {
        case preamble
        /// - offset: bytes that are not consumed and precede the head.
        /// - searched: bytes of the head in which the end of the head does not begin.
        case head(offset: Int, searched: Int)
        /// At the beginning of a part's content.
        case contentStart
        case content
        /// - offset: bytes that are not consumed and precede the epilogue.
        case epilogue(offset: Int)
        case over
    }

    var state = State.preamble
    var parts = 0
    let search: DelimiterSearch

    package init(boundary: MultipartBoundary) {
        search = DelimiterSearch(boundary)
    }

    /// Parses the next item.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that are not consumed yet.
    ///   - isLast: whether the form ends with these bytes.
    /// - Throws: 400 for a malformed form, 413 for too many parts or too long a head. The reader must not be used after
    ///   an error.
    package mutating func next(_ bytes: RawSpan, isLast: Bool) throws(HTTPFault) -> MultipartProgress {
        if case .preamble = state { try preamble(bytes, isLast) }
        let progress =
            switch state {
            case .preamble: MultipartProgress(.needsMore)
            case .head(let offset, let searched): try head(bytes, offset, searched)
            case .contentStart, .content: try content(bytes, isLast)
            case .epilogue(let offset): try epilogue(bytes, offset, isLast)
            case .over: throw HTTPFault(400, "Data follows the end of the form.")
            }
        guard !isLast || progress.step != .needsMore else {
            throw HTTPFault(400, "The form ends without its last boundary.")
        }
        return progress
    }
}
