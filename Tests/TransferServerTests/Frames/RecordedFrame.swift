import TransferCodec
import TransferModel
import TransferProtocol

/// The bytes of one frame. The tables of PROTOCOL.md describe its parts here, and not the decoder that is tested.
///
/// Fields that differ from run to run become zeros: the server's key, numbers, times, signatures and hashes of
/// receipts, versions of files and times of their storage, times and permissions of directories. The checksum of a
/// changed frame is computed again if it was right before.
struct RecordedFrame {
    private static let headerSize = 7

    /// Longest content in bytes that is recorded as it is. Longer content is recorded as its size and digest.
    private static let mostContent = 64

    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var function: FunctionCode? {
        bytes.count >= Self.headerSize ? FunctionCode(rawValue: UInt16(bytes[2]) << 8 | UInt16(bytes[3])) : nil
    }

    /// - Returns: the length of the first frame in bytes; nil if the frame is not complete.
    static func length(of bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= headerSize else { return nil }
        let short = number(bytes.dropFirst(5).prefix(2))
        guard short == 0xFFFF else { return bytes.count >= headerSize + short ? headerSize + short : nil }
        guard bytes.count >= headerSize + 8 else { return nil }
        let long = number(bytes.dropFirst(headerSize).prefix(8))
        return bytes.count - headerSize - 8 >= long ? headerSize + 8 + long : nil
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    /// Whether the frame is a ping or a report of progress, whose number depends on time.
    var isOfTime: Bool { function == .ping || function == .received }

    /// The content of a data frame.
    var content: ArraySlice<UInt8>? {
        guard function == .data else { return nil }
        return bytes.dropFirst(bytes[5] == 0xFF && bytes[6] == 0xFF ? Self.headerSize + 8 : Self.headerSize)
    }

    /// Makes one frame that stands for all data frames with this content, since their sender decides where to divide
    /// the content.
    static func data(_ content: [UInt8]) -> [UInt8] {
        guard content.count > mostContent else { return Frames.data(content) }
        let summary = "\(content.count) bytes, \(Frames.digest(content))"
        return Frames.data(Array(summary.utf8))
    }

    /// Explanation of the frame for people.
    var comment: String {
        guard let function else { return "\(bytes.count) bytes" }
        guard let length = Self.length(of: bytes[...]), length == bytes.count,
            case .message(let message, _)? = try? parsed
        else { return function == .data ? "data" + (bytes[4] == 1 ? ", zlib" : "") : "\(function), malformed" }
        return Self.comment(on: message) ?? "\(function)"
    }

    private var parsed: FrameParser.Step {
        get throws {
            try bytes.withUnsafeBytes { bytes in
                var parser = FrameParser()
                return try parser.next(bytes.bytes)
            }
        }
    }

    private static func comment(on message: Message) -> String? {
        switch message {
        case .begin(let begin): "begin \(begin.path.debugDescription)"
        case .resume(let begin): "resume \(begin.path.debugDescription)"
        case .result(let result): "result \(result.code)" + (result.receipt == nil ? "" : " with its receipt")
        case .have(let have): "have, \(have.digests.count) from \(have.first)"
        case .lookup(let lookup): "lookup of \(lookup.ids.count)"
        case .unknown(let ids): "unknown, \(ids.count)"
        case .receipts(let receipts): "receipts, \(receipts.count)"
        case .entries(let entries): "entries, \(entries.entries.count)"
        case .list(let list): "list \(list.path.debugDescription)"
        case .fetch(let fetch): "fetch \(fetch.path.debugDescription)"
        case .remove(let remove): "remove \(remove.path.debugDescription)"
        case .outcome(let outcome): "outcome \(outcome.code)"
        case .goodbye(let goodbye): "goodbye \(goodbye.code)"
        default: nil
        }
    }
}

// MARK: Fields that differ from run to run

extension RecordedFrame {
    /// The frame with zeros in the fields that differ from run to run.
    var normalised: [UInt8] {
        var frame = self
        switch function {
        case .welcome: frame.clearServerKey()
        case .receipts:
            for range in [1..<17, 19..<83] { frame.clear(range) }
        case .result: frame.clearReceipt()
        case .entries: frame.clearEntries()
        case .file: frame.clear(26..<42)
        default: break
        }
        return frame.bytes == bytes ? bytes : frame.checked(like: self)
    }

    private mutating func clear(_ range: Range<Int>) {
        for index in range where Self.headerSize + index < bytes.count { bytes[Self.headerSize + index] = 0 }
    }

    private func number(_ offset: Int, _ size: Int) -> Int {
        Self.number(bytes.dropFirst(Self.headerSize + offset).prefix(size))
    }

    /// Clears ranges of a field's value. `ranges` computes them from the frame and the offset of the value.
    private mutating func clear(field tag: Int, from start: Int, _ ranges: (RecordedFrame, Int) -> [Range<Int>]) {
        var offset = start
        while Self.headerSize + offset + 3 <= bytes.count {
            let value = offset + 3
            if number(offset, 1) == tag {
                for range in ranges(self, value) { clear(value + range.lowerBound..<value + range.upperBound) }
            }
            offset = value + number(offset + 1, 2)
        }
    }

    private mutating func clearServerKey() { clear(field: 7, from: 28) { _, _ in [0..<32] } }

    /// Clears number, time, server key, signature and hashes of the receipt in a result.
    private mutating func clearReceipt() {
        let fields = 27 + (number(18, 1) & 2 == 0 ? 0 : digestSize(27))
        clear(field: 8, from: fields) { frame, start in
            let path = 148 + frame.digestSize(start + 148)
            let sender = path + 2 + frame.number(start + path, 2)
            let hashes = sender + 2 + frame.number(start + sender, 2) + 1
            return [1..<9, 36..<140, hashes..<hashes + 32 * frame.number(start + hashes - 1, 1)]
        }
    }

    private func digestSize(_ offset: Int) -> Int { number(offset, 1) % 2 == 1 ? 17 : 33 }

    private mutating func clearEntries() {
        var offset = 6
        for _ in 0..<number(4, 2) {
            let flags = number(offset + 1, 1)
            if number(offset, 1) == 1 { clear(offset + 3..<offset + 25) }
            clear(offset + 25..<offset + 41)
            offset += 41
            if flags & 1 != 0 { offset += digestSize(offset) }
            if flags & 2 != 0 {
                clear(offset..<offset + 8)
                offset += 8
            }
            offset += 2 + number(offset, 2)
        }
    }

    private func checked(like original: RecordedFrame) -> [UInt8] {
        let size = 7
        guard function?.isChecked == true, bytes.count >= Self.headerSize + size else { return bytes }
        var before = Array(original.bytes.dropLast(size))
        before.appendCheck(from: Self.headerSize)
        guard before == original.bytes else { return original.bytes }
        var now = Array(bytes.dropLast(size))
        now.appendCheck(from: Self.headerSize)
        return now
    }
}
