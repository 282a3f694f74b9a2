import TransferCodec
import TransferModel
import TransferProtocol
import TransferSimulation
import TransferTestSupport

/// The client's end of one connection: it follows a script, mostly by the rules, and reads the answers.
struct ScriptedClient {
    /// Content whose upload is open.
    private struct Open {
        let content: Int
        let function: DigestFunction
        let range: Range<Int>
        /// Number of bytes that were sent.
        var sent = 0
    }

    /// There are few paths, so that several uploads often have the same path.
    static let paths = ["a", "b", "c", "d/a", "d/b", "d", "e/f/a", "", "../a"]

    /// Empty, short and long content; the long one is sent in parts. An upload sends the whole content, or only its
    /// beginning.
    static let contents: [[UInt8]] = {
        let long = SplitMix64.bytes(seed: 1, Limits.blockSize + 1000)
        return [[], [1], [1, 2], SplitMix64.bytes(seed: 2, 100), SplitMix64.bytes(seed: 3, 9000), long]
    }()

    private static let long = contents.count - 1
    private static let ids: UInt8 = 6

    /// Bytes of content in one frame.
    private static let pieces = [1, 7, 100, 5000, 1 << 16, 1 << 20]

    private var open: Open?
    private var parser = FrameParser()
    private var heard: [UInt8] = []

    /// Bytes that are still to be sent.
    private(set) var said: [UInt8] = []

    static func id(_ number: UInt8) -> UploadID { UploadID(high: 1, low: UInt64(number % ids) + 1) }

    static func path(_ number: UInt8) -> String { paths[Int(number) % paths.count] }

    mutating func takeSaid() -> [UInt8] {
        defer { said = [] }
        return said
    }

    // MARK: Saying

    mutating func say(_ message: Message) {
        message.encode(into: &said)
    }

    mutating func say(_ bytes: [UInt8]) {
        said += bytes
    }

    /// Keeps only the first `count` of the bytes that are to be sent.
    mutating func cut(to count: Int) {
        said = Array(said.prefix(count))
    }

    /// - Parameters:
    ///   - about: the upload (low four bits), and its path (the others).
    ///   - what: the content (low four bits), and the conflict policy.
    ///   - how: bits for the size, an answer to wait for, a text, and the digest function.
    mutating func begin(_ about: UInt8, _ what: UInt8, _ how: UInt8) {
        let content = Int(what & 15) % Self.long
        let size = how & 1 == 0 ? UInt64(Self.contents[content].count) : nil
        begin(Self.id(about & 15), Self.path(about >> 4), content, 0..<Self.contents[content].count, size, what, how)
    }

    /// Begins one of the two parts of the long content.
    mutating func beginPart(_ about: UInt8, _ which: UInt8, _ how: UInt8) {
        let count = Self.contents[Self.long].count
        let range = which & 1 == 0 ? 0..<Limits.blockSize : Limits.blockSize..<count
        let total = how & 1 == 0 ? UInt64(count) : nil
        let id = UploadID(high: 2, low: UInt64(about & 15) << 8 | UInt64(which & 3))
        begin(
            id, Self.path(about >> 4), Self.long, range, UInt64(range.count), which, how,
            .part(Begin.Part(of: Self.id(about & 15), offset: UInt64(range.lowerBound), total: total)))
    }

    /// Begins the upload that joins the parts.
    mutating func beginMultipart(_ about: UInt8, _ what: UInt8, _ how: UInt8) {
        let count = Self.contents[Self.long].count
        begin(
            Self.id(about & 15), Self.path(about >> 4), Self.long, count..<count, UInt64(count), what, how, .multipart)
    }

    private mutating func begin(
        _ id: UploadID, _ path: String, _ content: Int, _ range: Range<Int>, _ size: UInt64?, _ what: UInt8,
        _ how: UInt8, _ scope: Begin.Scope = .whole
    ) {
        let policies = ConflictPolicy.allCases
        let begin = Begin(
            id: id, path: path, size: size, kind: how & 4 == 0 ? .file : .text,
            digest: how & 8 == 0 ? .xxh128 : .sha256, conflict: policies[Int(what >> 4) % policies.count],
            expectsAccept: how & 2 != 0, scope: scope)
        open = Open(content: content, function: begin.digest, range: range)
        say(.begin(begin))
    }

    /// Asks which blocks of an upload the server has.
    mutating func resume(_ about: UInt8, _ what: UInt8, _ how: UInt8) {
        let content = how & 1 == 0 ? Self.long : Int(what & 15) % Self.long
        let id = Self.id(about & 15)
        say(
            .resume(
                Begin(
                    id: id, path: Self.path(about >> 4), size: UInt64(Self.contents[content].count),
                    expectsAccept: true, scope: how & 1 == 0 ? .multipart : .whole)))
    }

    /// Sends content of the open upload, or other content without one.
    ///
    /// - Parameters:
    ///   - length: index of the length of a frame.
    ///   - how: bits for compressed frames, for a wrong byte at their ends, and for several frames, which may contain
    ///     all of the long content.
    mutating func data(_ length: UInt8, _ how: UInt8) {
        for _ in 0..<(how & 4 == 0 ? 1 : 8) {
            let rest = open.map { $0.range.dropFirst($0.sent) } ?? 0..<10
            say(piece(rest.prefix(Self.pieces[Int(length) % Self.pieces.count]), how))
            guard rest.count > Self.pieces[Int(length) % Self.pieces.count] else { return }
        }
    }

    private mutating func piece(_ range: Range<Int>, _ how: UInt8) -> [UInt8] {
        var body = Array(Self.contents[open?.content ?? Self.long][range])
        if how & 2 != 0, !body.isEmpty { body[body.count - 1] ^= 1 }
        let deflated = how & 1 == 0 ? nil : Self.deflated(body)
        var frame: [UInt8] = []
        FrameHeader(
            .data, encoding: deflated == nil ? .stored : .zlib, bodyLength: (deflated ?? body).count
        ).encode(into: &frame)
        open?.sent += range.count
        return frame + (deflated ?? body)
    }

    private static func deflated(_ body: [UInt8]) -> [UInt8]? {
        let deflater = Deflater(level: 1)
        var output = [UInt8](repeating: 0, count: body.count + 1024)
        let count = body.withUnsafeBytes { input in output.withUnsafeMutableBytes { deflater.deflate(input, into: $0) }
        }
        return count.map { Array(output[..<$0]) }
    }

    /// Sends the digest of the first block of the open upload.
    mutating func block(_ index: UInt8, _ how: UInt8) {
        guard let open else { return say(.block(BlockDigest(index: UInt64(index), digest: Self.wrong))) }
        let block = Self.contents[open.content][open.range].prefix(Limits.blockSize)
        let digest = SimulatedGround.digest(of: Array(block), open.function)
        say(.block(BlockDigest(index: UInt64(index & 1), digest: how & 1 == 0 ? digest : Self.wrong)))
    }

    private static let wrong = Digest(.xxh128, [UInt8](repeating: 7, count: 16))

    /// Declares the end of the open upload.
    ///
    /// - Parameter how: its lowest bits make the size or the digest wrong.
    mutating func end(_ how: UInt8) {
        let content = Self.contents[open?.content ?? 0]
        let whole = open.map { $0.range.isEmpty ? content[...] : content[$0.range] } ?? []
        let digest = SimulatedGround.digest(of: Array(whole), open?.function ?? .xxh128)
        let size = UInt64(whole.count) + (how & 3 == 3 ? 1 : 0)
        say(.end(End(size: size, digest: how & 3 == 2 ? Self.wrong : digest)))
        open = nil
    }

    mutating func abort() {
        open = nil
        say(.abort)
    }

    // MARK: Hearing

    /// - Returns: the received messages.
    /// - Throws: a finding if the server's bytes cannot be read.
    mutating func hear(_ bytes: [UInt8]) throws(Finding) -> [Message] {
        heard += bytes
        var (messages, start) = ([] as [Message], 0)
        var parser = parser
        do throws(ProtocolFault) {
            while start < heard.count {
                switch try parser.next(heard.span.bytes.extracting(start..<heard.count)) {
                case .needsMore: throw ProtocolFault(.malformedFrame, "a frame that is not whole")
                case .message(let message, let consumed):
                    messages.append(message)
                    start += consumed
                case .data(_, let consumed): start += consumed
                }
            }
        } catch {
            throw Finding("The server says what cannot be read: \(error.message).")
        }
        (heard, self.parser) = ([], parser)
        return messages
    }
}
