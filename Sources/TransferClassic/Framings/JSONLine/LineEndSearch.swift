internal import TransferModel

/// Looks for the line end behind a head that is shown again and again, a little longer each time, and looks at each byte
/// once.
struct LineEndSearch {
    private var searched = 0
    private var isObject = false

    /// - Parameter bytes: from the beginning of the head on.
    /// - Returns: bytes in front of the line end; nothing as long as it has not come.
    /// - Throws: `malformedFrame` when it is no JSON object that begins there, `frameTooLarge` when it does not end.
    mutating func end(in bytes: RawSpan) throws(ClassicFault) -> Int? {
        let shown = bytes.extracting(first: ClassicLimits.head + 2)
        let found = shown.withUnsafeBytes { Self.find($0, from: searched) }
        // What is behind the line end may be there by now, or not.
        try checkFront(shown.extracting(first: found ?? shown.byteCount), isWhole: found != nil)
        if let found { return found }
        guard shown.byteCount < ClassicLimits.head + 2 else {
            throw ClassicFault(.frameTooLarge, "A head has more than \(ClassicLimits.head) bytes.")
        }
        // The last byte can be the first half.
        searched = max(searched, shown.byteCount - 1)
        return nil
    }

    /// So that whoever speaks something else is told so at once.
    private mutating func checkFront(_ shown: RawSpan, isWhole: Bool) throws(ClassicFault) {
        guard !isObject else { return }
        let first = shown.withUnsafeBytes { $0.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } }
        guard first != nil || isWhole else { return }
        guard first == UInt8(ascii: "{") else {
            throw ClassicFault(.malformedFrame, "A head begins with something else than a JSON object.")
        }
        isObject = true
    }

    private static func find(_ shown: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        while index + 1 < shown.count {
            if shown[index] == 0x0D, shown[index + 1] == 0x0A { return index }
            index += 1
        }
        return nil
    }
}
