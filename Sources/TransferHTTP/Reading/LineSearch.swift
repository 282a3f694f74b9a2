/// Searches for the end of a line. The caller passes the same bytes again, followed by more, and each byte is examined
/// once.
struct LineSearch {
    enum Found: Equatable {
        case incomplete
        /// The line without its end, which has two bytes more.
        case line(Range<Int>)
        /// There are more bytes than the limit, and no end.
        case tooLong
    }

    private var searched = 0

    /// Whether the beginning of a line was examined.
    var isWithinLine: Bool { searched > 0 }

    /// - Parameters:
    ///   - start: position at which the line begins.
    ///   - limit: most bytes of the line without its end.
    /// - Throws: 400 for a CR or LF alone, because some readers end lines there and some don't.
    mutating func next(
        in bytes: UnsafeRawBufferPointer, from start: Int, limit: Int
    ) throws(HTTPFault) -> Found {
        let end = min(bytes.count, start + limit + 1)
        var index = start + searched
        while index < end {
            let byte = bytes[index]
            if byte == HTTPCharacter.lineFeed { throw Self.halfAnEnd }
            guard byte == HTTPCharacter.carriageReturn else {
                index += 1
                continue
            }
            guard index + 1 < bytes.count else { break }
            guard bytes[index + 1] == HTTPCharacter.lineFeed else { throw Self.halfAnEnd }
            searched = 0
            return .line(start..<index)
        }
        searched = index - start
        return searched > limit ? .tooLong : .incomplete
    }

    private static let halfAnEnd = HTTPFault(400, "A line ends with a CR or an LF alone.")
}
