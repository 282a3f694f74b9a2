/// Looks for the end of a line that is shown again and again, a little longer each time, and looks at each byte once.
struct LineSearch {
    enum Found: Equatable {
        case incomplete
        /// The line without its end, which is two bytes more.
        case line(Range<Int>)
        /// More bytes than the limit, and no end so far.
        case tooLong
    }

    private var searched = 0

    /// Whether something of a line was seen.
    var isWithinLine: Bool { searched > 0 }

    /// - Parameters:
    ///   - start: where the line begins.
    ///   - limit: bytes that it may have without its end.
    /// - Throws: 400 for one half of a line end without the other: some readers end lines there, and some don't.
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
