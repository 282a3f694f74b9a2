/// Reads a stream of multipart/form-data (RFC 7578; RFC 2046, section 5.1). It does no I/O: bytes come in as an
/// argument, steps go out as values.
///
/// A caller shows the bytes that it has, takes one step, drops what was consumed, and asks again until `needsMore`;
/// then it shows what is left with more behind it. However the stream is cut, the steps are the same, except that
/// content may come in other pieces.
///
/// ```
///   preamble ──boundary──► head ──part──► content ──boundary: endOfPart──► head
///                                                 └─last boundary: endOfPart──► epilogue ──end──► over
/// ```
///
/// What readers of forms take differently is refused: blanks behind a boundary, lines that begin with a boundary and go
/// on, a boundary at once behind a head, and line ends other than CR LF where the form has its own.
package struct MultipartReader: Sendable {
    /// Bytes that a caller must be able to show at once.
    package static let window =
        MultipartLimits.surroundings + MultipartBoundary.lengths.upperBound + MultipartLimits.head + 8

    enum State {
        case preamble
        /// - offset: bytes that are still shown in front of the head.
        /// - searched: bytes of the head in which its end does not begin.
        case head(offset: Int, searched: Int)
        /// No content of the part has come yet.
        case contentStart
        case content
        /// - offset: bytes that are still shown in front of the epilogue.
        case epilogue(offset: Int)
        case over
    }

    var state = State.preamble
    var parts = 0
    let search: DelimiterSearch

    package init(boundary: MultipartBoundary) {
        search = DelimiterSearch(boundary)
    }

    /// Takes one step.
    ///
    /// - Parameters:
    ///   - bytes: what was not consumed yet, from the front.
    ///   - isLast: whether nothing comes behind them.
    /// - Throws: 400 when it is no form, 413 when it has too many parts or too long a head. The reader must not be used
    ///   after that.
    package mutating func next(_ bytes: RawSpan, isLast: Bool) throws(HTTPFault) -> MultipartProgress {
        if case .preamble = state { try preamble(bytes, isLast) }
        let progress =
            switch state {
            case .preamble: MultipartProgress(.needsMore)
            case .head(let offset, let searched): try head(bytes, offset, searched)
            case .contentStart, .content: try content(bytes, isLast)
            case .epilogue(let offset): try epilogue(bytes, offset, isLast)
            case .over: throw HTTPFault(400, "The form is over.")
            }
        guard !isLast || progress.step != .needsMore else {
            throw HTTPFault(400, "The form ends without its last boundary.")
        }
        return progress
    }
}
