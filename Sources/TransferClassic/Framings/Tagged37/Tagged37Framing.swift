package import TransferModel

extension ClassicFraming {
    /// The framing with a header of 37 characters.
    package static let tagged37 = ClassicFraming(
        "tagged37", window: ClassicLimits.json + 1, messagesIn: Tagged37Framing.self)
}

/// Messages after a header of 37 characters. The header is taken as soon as it has arrived; the JSON is taken only when
/// all of it has arrived, at most 128 KiB.
///
/// ```
///   between ──anything but V0.1: skipped──► between
///   between ──37 bytes──► json ──all of it: a message──► between
/// ```
package struct Tagged37Framing: MessageFraming {
    private enum State {
        /// - Parameter skipped: the number of bytes since the last message.
        case between(skipped: Int)
        case json(MessageFunction, JSONExtent)
    }

    private var state = State.between(skipped: 0)

    package var isBetweenMessages: Bool {
        if case .between = state { true } else { false }
    }

    package init() {}

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (found: FoundMessage, consumed: Int) {
        switch state {
        case .between(let skipped): try between(bytes, skipped)
        case .json(let function, let extent): try json(bytes, function, extent)
        }
    }

    private mutating func between(
        _ bytes: RawSpan, _ skipped: Int
    ) throws(ClassicFault) -> (found: FoundMessage, consumed: Int) {
        let start = bytes.withUnsafeBytes { Self.mark(in: $0) }
        guard start == 0 else {
            guard skipped + start <= ClassicLimits.noise else {
                throw ClassicFault(.malformedFrame, "\(ClassicLimits.noise) bytes have no header.")
            }
            state = .between(skipped: skipped + start)
            return (.nothing, start)
        }
        guard let header = try Tagged37Header(bytes) else { return (.needsMore, 0) }
        state = .json(header.function, JSONExtent(length: header.length))
        return (.nothing, Tagged37Header.size)
    }

    private mutating func json(
        _ bytes: RawSpan, _ function: MessageFunction, _ extent: JSONExtent
    ) throws(ClassicFault) -> (found: FoundMessage, consumed: Int) {
        var extent = extent
        let ends = try extent.ends(in: bytes)
        guard ends else {
            state = .json(function, extent)
            return (.needsMore, 0)
        }
        state = .between(skipped: 0)
        return (.message(function, bytes.array(0..<extent.bytes)), extent.bytes)
    }

    /// The offset of the mark, or of the beginning of a mark that the end cuts off; the number of bytes if there is
    /// neither.
    private static func mark(in shown: UnsafeRawBufferPointer) -> Int {
        var start = 0
        while start < shown.count {
            guard let found = shown[start...].firstIndex(of: Tagged37Header.mark[0]) else { return shown.count }
            let front = shown[found...].prefix(Tagged37Header.mark.count)
            if front.elementsEqual(Tagged37Header.mark.prefix(front.count)) { return found }
            start = found + 1
        }
        return start
    }

    package static func encode(_ function: MessageFunction, _ object: JSONLine) -> [UInt8]? {
        let json = object.asciiText
        return Tagged37Header.text(function, length: json.utf8.count).map { Array(($0 + json).utf8) }
    }
}
