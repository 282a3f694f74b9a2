internal import TransferModel

/// Finds the line end of a head that is passed repeatedly with more bytes each time, and examines each byte once.
struct LineEndSearch {
    private var searched = 0
    private var isObject = false

    /// - Parameter bytes: the bytes from the beginning of the head.
    /// - Returns: the number of bytes before the line end; nil until it has arrived.
    /// - Throws: `malformedFrame` if the head does not begin with a JSON object, `frameTooLarge` if it is too long.
    mutating func end(in bytes: RawSpan) throws(ClassicFault) -> Int? {
        let shown = bytes.extracting(first: ClassicLimits.head + 2)
        let found = shown.withUnsafeBytes { Self.find($0, from: searched) }
        // Only bytes before the line end are checked: it must make no difference whether later bytes have arrived
        // already.
        try checkFront(shown.extracting(first: found ?? shown.byteCount), isWhole: found != nil)
        if let found { return found }
        guard shown.byteCount < ClassicLimits.head + 2 else {
            throw ClassicFault(.frameTooLarge, "A head has more than \(ClassicLimits.head) bytes.")
        }
        // The last byte can be the first half of the line end.
        searched = max(searched, shown.byteCount - 1)
        return nil
    }

    /// Refuses a client that speaks another protocol at once.
    private mutating func checkFront(_ shown: RawSpan, isWhole: Bool) throws(ClassicFault) {
        guard !isObject else { return }
        let first = shown.withUnsafeBytes { $0.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } }
        guard first != nil || isWhole else { return }
        guard first == UInt8(ascii: "{") else {
            throw ClassicFault(.malformedFrame, "A head does not begin with a JSON object.")
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
