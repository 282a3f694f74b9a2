import TransferClassic
import TransferModel

extension ClassicFraming {
    /// A framing for tests only: the size in digits, a line end, then the content; the answer is one character.
    static func digits(radix: Int = 10) -> ClassicFraming {
        ClassicFraming(
            "digits", port: 99, window: DigitsConversation.longestHead,
            options: [
                Option(
                    "radix", help: "radix=16 where sizes are hexadecimal",
                    values: [("10", { digits(radix: 10) }), ("16", { digits(radix: 16) })])
            ],
            conversation: { DigitsConversation(radix: radix) }, client: { _ in DigitsClient(radix: radix) })
    }
}

private struct DigitsConversation: ClassicConversation {
    static let longestHead = 17

    let radix: Int
    let hasDigests = false
    private var number: UInt64 = 0
    /// Bytes of content still to be received; nil between uploads.
    private var remaining: Int?

    init(radix: Int) { self.radix = radix }

    var isBetweenMessages: Bool { remaining == nil }

    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress {
        guard let remaining else { return try head(bytes) }
        guard remaining > 0 else {
            self.remaining = nil
            return ClassicProgress(.end(ClassicEnd()))
        }
        let count = min(remaining, bytes.byteCount)
        guard count > 0 else { return ClassicProgress(.needsMore) }
        self.remaining = remaining - count
        return ClassicProgress(.content(0..<count), consumed: count)
    }

    private mutating func head(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress {
        let shown = bytes.withUnsafeBytes { Array($0.prefix(Self.longestHead)) }
        guard let end = shown.firstIndex(of: UInt8(ascii: "\n")) else {
            guard shown.count < Self.longestHead else { throw ClassicFault(.malformedFrame, "The size has no end.") }
            return ClassicProgress(.needsMore)
        }
        guard let size = UInt32(String(decoding: shown[..<end], as: UTF8.self), radix: radix) else {
            throw ClassicFault(.malformedFrame, "The size is not a number.")
        }
        (remaining, number) = (Int(size), number + 1)
        return ClassicProgress(.begin(ClassicUpload(number: number, size: UInt64(size))), consumed: end + 1)
    }

    func answer(to upload: ClassicUpload, _ result: ClassicResult) -> [UInt8] {
        Array((result.isStored ? "+" : "-").utf8)
    }

    func answer(to fault: ClassicFault) -> [UInt8] { Array("-".utf8) }
}

private struct DigitsClient: ClassicClient {
    let radix: Int
    let isAnswered = true

    func begin(_ upload: ClassicUpload) throws(Failure) -> [UInt8] {
        guard let size = upload.size, size <= UInt32.max else { throw Failure(.unsuitable, "It is too long.") }
        return Array("\(String(size, radix: radix))\n".utf8)
    }

    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int) {
        switch bytes.withUnsafeBytes({ $0.first }) {
        case nil: return (.needsMore, 0)
        case UInt8(ascii: "+"): return (.stored(nil), 1)
        case UInt8(ascii: "-"): return (.failed, 1)
        default: throw ClassicFault(.malformedFrame, "It is neither + nor -.")
        }
    }
}
