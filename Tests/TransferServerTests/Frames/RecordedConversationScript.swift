import TransferModel
import TransferProtocol

/// The client's part of the recorded conversation, from which `TRANSFER_GOLDEN=write` makes the file. The test itself
/// takes the client's bytes from the file, so that a change of the encoder cannot hide one of the decoder.
struct RecordedConversationScript {
    struct Step {
        let step: RecordedConversation.Step
        /// Number of frames that answer the step. The last step is answered by the end of the connection.
        let answers: Int

        init(
            _ title: String, _ answers: Int, _ frames: [UInt8]..., isAtOnce: Bool = false, isAtTheEnd: Bool = false
        ) {
            self.answers = answers
            step = RecordedConversation.Step(
                title: title, isAtOnce: isAtOnce, isAtTheEnd: isAtTheEnd, said: frames.flatMap(Self.split))
        }

        private static func split(_ frames: [UInt8]) -> [[UInt8]] {
            var (rest, found): (ArraySlice<UInt8>, [[UInt8]]) = (frames[...], [])
            while let length = RecordedFrame.length(of: rest) {
                found.append(Array(rest.prefix(length)))
                rest = rest.dropFirst(length)
            }
            return rest.isEmpty ? found : found + [Array(rest)]
        }
    }

    let title: String
    let steps: [Step]

    var conversation: RecordedConversation { RecordedConversation(title: title, steps: steps.map(\.step)) }

    static var all: [RecordedConversationScript] { [uploads, known, parts, receipts, requests] + faults + [stopping] }

    private init(_ title: String, _ steps: [Step]...) {
        self.title = title
        self.steps = steps.flatMap(\.self)
    }
}

// MARK: Frames

extension RecordedConversationScript {
    private static let hello: [UInt8] = "hello".bytes
    private static let time = Timestamp(seconds: 1_767_268_800, nanoseconds: 500_000_000)
    private static let goodbye = Step("the client is done", 0, Frames.encoded(.goodbye(Goodbye(.committed))))

    private static func greeting(run: UInt64, _ features: Features = []) -> Step {
        Step("greeting", 1, Frames.hello(features: features, run: run))
    }

    private static func id(_ number: UInt64) -> UploadID { UploadID(high: 0x5245_434F_5244_4544, low: number) }

    private static func begin(
        _ number: UInt64, _ path: String, _ size: Int?, _ kind: ContentKind = .file,
        _ conflict: ConflictPolicy = .keepBoth, digest: DigestFunction = .xxh128, waits: Bool = false
    ) -> [UInt8] {
        Frames.encoded(
            .begin(
                Begin(
                    id: id(number), path: path, size: size.map { UInt64($0) }, kind: kind, digest: digest,
                    conflict: conflict, expectsAccept: waits, modified: time, permissions: 0o600)))
    }

    private static func upload(
        _ number: UInt64, _ path: String, _ content: [UInt8], _ kind: ContentKind = .file,
        _ conflict: ConflictPolicy = .keepBoth, digest: DigestFunction = .xxh128
    ) -> [UInt8] {
        begin(number, path, content.count, kind, conflict, digest: digest) + Frames.data(content)
            + Frames.end(content, digest)
    }

    private static let abort = Frames.encoded(.abort)
}

// MARK: Uploads

extension RecordedConversationScript {
    private static var uploads: Self {
        Self(
            "uploads", [greeting(run: 1)], wholeUploads, conflicts, wrongUploads,
            [
                Step("a sign of life", 1, Frames.encoded(.ping(0x0102_0304_0506_0708))),
                Step("one that nobody asked for", 0, Frames.encoded(.pong(7))), goodbye,
            ])
    }

    private static var wholeUploads: [Step] {
        let text: [UInt8] = Array(repeating: hello, count: 200).flatMap(\.self)
        return [
            Step("a text, stored", 1, upload(1, "notes/hello.txt", hello, .text)),
            Step(
                "compressed, in two frames", 1, begin(2, "notes/many.txt", 2 * text.count, .text),
                Frames.data(Frames.deflated(text), .zlib), Frames.data(Frames.deflated(text), .zlib),
                Frames.end(text + text)),
            Step("without content", 1, begin(3, "empty", 0), Frames.end([])),
            Step("with SHA-256", 1, upload(4, "sha", hello, digest: .sha256)),
            Step("of unknown size", 1, begin(5, "stream", nil), Frames.data(hello), Frames.end(hello)),
            Step("only when it may: the question", 1, begin(6, "asked", hello.count, waits: true)),
            Step("the content", 1, Frames.data(hello), Frames.end(hello)),
            Step("a picture", 1, upload(7, "kinds/picture", [1], .picture)),
            Step("sound", 1, upload(8, "kinds/sound", [2], .audio)),
            Step("a place", 1, upload(9, "kinds/place", [3], .location)),
            Step("two at once", 2, upload(10, "two/a", [1]), upload(11, "two/b", [2])),
        ]
    }

    private static var conflicts: [Step] {
        [
            Step("a name that is taken: beside it", 1, upload(20, "empty", [1])),
            Step("in its place", 1, upload(21, "kinds/picture", [9], .picture, .overwrite)),
            Step("leave it", 1, begin(22, "kinds/sound", 1, .audio, .skip, waits: true)),
            Step("which closes it", 0, abort),
            Step("leave it, without asking", 1, upload(23, "kinds/sound", [7], .audio, .skip)),
            Step("refuse", 1, upload(24, "kinds/sound", [7], .audio, .fail)),
            Step("the same content", 1, upload(25, "kinds/sound", [2], .audio)),
            Step("a file where a directory is needed", 1, upload(26, "empty/below", [1])),
            Step("a directory where a file is needed", 1, upload(27, "kinds", [1], .file, .overwrite)),
        ]
    }

    private static var wrongUploads: [Step] {
        let long = [UInt8](repeating: 0, count: Limits.dataBody + 1)
        return [
            Step("the wrong digest", 1, begin(30, "wrong", 5), Frames.data(hello), Frames.end([1, 2, 3, 4, 5])),
            Step("the wrong size at the end", 1, begin(31, "wrong", nil), Frames.data(hello), Frames.end([1])),
            Step("too little", 1, begin(32, "wrong", 6), Frames.data(hello), Frames.end(hello)),
            Step("too much", 1, begin(33, "wrong", 4), Frames.data(hello), Frames.end(hello)),
            Step("a path that leads out", 1, upload(34, "../wrong", hello)),
            Step("an empty component", 1, upload(35, "a//b", hello)),
            Step("the server's own folder", 1, upload(36, ".transfer/x", hello)),
            Step("a path that is not UTF-8", 1, upload(37, Begin.undecodablePath, hello)),
            Step("a damaged stream", 1, begin(38, "wrong", 5), Frames.data([1, 2, 3], .zlib), Frames.end(hello)),
            Step(
                "inflates to too much", 1, begin(39, "wrong", nil), Frames.data(Frames.deflated(long), .zlib),
                Frames.end(long), isAtOnce: true),
            Step("larger than the server takes", 1, begin(40, "wrong", 1 << 31)),
            Step("which closes it", 0, abort),
            Step("taken back", 1, begin(41, "wrong", 5), Frames.data([1, 2]), abort),
            Step("the wrong digest of a block", 1, begin(42, "wrong", 5_000_000), Frames.block(0, [1])),
            Step("which closes it", 0, abort),
        ]
    }
}

// MARK: Known uploads

extension RecordedConversationScript {
    private static var known: Self {
        Self(
            "what is known",
            [
                greeting(run: 1),
                Step("the same again", 1, upload(1, "notes/hello.txt", hello, .text)),
                Step("without its content", 1, begin(1, "notes/hello.txt", 5, .text, waits: true)),
                Step("which closes it", 0, abort),
                Step("stored beside the name it asked for", 1, upload(20, "empty", [1])),
                Step("an id with other content", 1, upload(1, "notes/hello.txt", [1, 2, 3], .text)),
                Step(
                    "looked up", 3,
                    Frames.encoded(.lookup(Lookup([id(1), id(77), id(20), id(4)], digest: .xxh128)))),
                Step("another digest function", 1, Frames.encoded(.lookup(Lookup([id(1)], digest: .sha256)))),
                goodbye,
            ])
    }

    private static var receipts: Self {
        Self(
            "receipts",
            [
                greeting(run: 4, .receipts),
                Step("an upload", 2, upload(60, "receipts/a", hello)),
                Step("again, in the same run", 1, upload(60, "receipts/a", hello)),
                Step("three at once, one of them wrong", 4, threeWithReceipts, isAtOnce: true),
                Step("again, in the same run", 1, upload(62, "receipts/c", [2])),
                Step("of another run", 1, upload(1, "notes/hello.txt", hello, .text)),
                Step("looked up", 2, Frames.encoded(.lookup(Lookup([id(1), id(2)], digest: .xxh128)))),
                goodbye,
            ])
    }

    private static var threeWithReceipts: [UInt8] {
        upload(61, "receipts/b", [1]) + upload(63, "a//b", [1]) + upload(62, "receipts/c", [2])
    }
}

// MARK: Parts

extension RecordedConversationScript {
    /// An upload in parts of one block of zeros and five bytes.
    private static var long: PartedUpload {
        PartedUpload("parts/long", [UInt8](repeating: 0, count: Limits.blockSize) + hello, id: id(50))
    }

    private static var firstPart: [UInt8] {
        var begin = Begin(
            id: id(51), path: long.path, size: UInt64(Limits.blockSize), modified: time, permissions: 0o600)
        begin.scope = .part(.init(of: long.id, offset: 0, total: UInt64(long.content.count)))
        let block = Array(long.content.prefix(Limits.blockSize))
        let quarter = Frames.data(Frames.deflated(Array(block.prefix(Limits.dataBody))), .zlib)
        return Frames.encoded(.begin(begin)) + Array(repeating: quarter, count: 4).flatMap(\.self)
            + Frames.end(block)
    }

    private static var lastPart: [UInt8] {
        long.part(Limits.blockSize..<long.content.count, id: id(52))
    }

    /// - Parameter byte: value of the byte in the digested content in place of each zero.
    private static func multipart(_ byte: UInt8 = 0) -> [UInt8] {
        let size = UInt64(long.content.count)
        var begin = Begin(id: long.id, path: long.path, size: size, modified: time, permissions: 0o600)
        begin.scope = .multipart
        let block = [UInt8](repeating: byte, count: Limits.blockSize)
        return Frames.encoded(.begin(begin), .end(End(size: size, digest: Frames.digest(block + hello))))
    }

    private static var openPart: [UInt8] {
        var begin = Begin(id: id(56), path: "parts/small", size: 5)
        begin.scope = .part(.init(of: id(53), offset: 0, total: 5))
        return Frames.encoded(.begin(begin)) + Frames.data([1, 2])
    }

    private static var parts: Self {
        let small = PartedUpload("parts/small", hello, id: id(53))
        return Self(
            "an upload in parts",
            [
                greeting(run: 3),
                Step("what the server has of it: nothing", 1, long.question),
                Step("its end", 1, lastPart),
                Step("too early", 1, multipart()),
                Step("what the server has of it", 2, long.question),
                Step("another size of the whole", 1, long.part(0..<5, id: id(54), total: 5)),
                Step("its first block", 1, firstPart),
                Step("what the server has of it now", 2, long.question),
                Step("the wrong digest of the whole", 1, multipart(1)),
                Step("its end and first block again", 2, lastPart, firstPart),
                Step("all of it", 1, multipart()),
                Step("all of it again", 1, multipart()),
                Step("what the server has of what is over", 1, long.question),
                Step("another one", 1, small.part(0..<5, id: id(55))),
                Step("taken back", 1, small.withdrawal),
                Step("nothing left of it", 1, small.multipart),
                Step("a part that is taken back", 1, openPart, abort),
                goodbye,
            ])
    }
}

// MARK: Requests

extension RecordedConversationScript {
    private static var requests: Self {
        Self(
            "requests", [greeting(run: 5)], lists, fetches, cancels, removals,
            [
                Step("what was removed is unknown", 1, Frames.encoded(.lookup(Lookup([id(9)], digest: .xxh128)))),
                goodbye,
            ])
    }

    private static func ask(_ requests: Request...) -> [UInt8] {
        requests.reduce(into: []) { $1.message.encode(into: &$0) }
    }

    private static var lists: [Step] {
        [
            Step("a bad path", 1, ask(.list(ListRequest(id: 7, path: "notes/../notes")))),
            Step("a folder", 2, ask(.list(ListRequest(id: 1, path: "parts")))),
            Step("a folder with details", 2, ask(.list(ListRequest(id: 2, path: "parts", wantsDetails: true)))),
            Step("a file itself", 2, ask(.list(ListRequest(id: 3, path: "notes/hello.txt", isAboutItself: true)))),
            Step("a folder itself", 2, ask(.list(ListRequest(id: 4, path: "notes", isAboutItself: true)))),
            Step("what is not there", 1, ask(.list(ListRequest(id: 5, path: "missing")))),
            Step("a file", 1, ask(.list(ListRequest(id: 6, path: "sha")))),
        ]
    }

    private static var fetches: [Step] {
        let version = FileVersion(high: 1, low: 2)
        let block = UInt64(Limits.blockSize)
        return [
            Step("a file", 3, ask(.fetch(FetchRequest(id: 10, path: "notes/hello.txt")))),
            Step("without content", 2, ask(.fetch(FetchRequest(id: 11, path: "empty", digest: .sha256)))),
            Step("of more than a block", 5, ask(.fetch(FetchRequest(id: 12, path: "parts/long")))),
            Step(
                "the rest of what is another version now", 3,
                ask(.fetch(FetchRequest(id: 13, path: "sha", offset: block, version: version)))),
            Step(
                "a part of another version", 1,
                ask(.fetch(FetchRequest(id: 14, path: "parts/long", version: version, length: block)))),
            Step("what is not there", 1, ask(.fetch(FetchRequest(id: 15, path: "missing")))),
            Step("a folder", 1, ask(.fetch(FetchRequest(id: 16, path: "notes")))),
            Step("a bad path", 1, ask(.fetch(FetchRequest(id: 17, path: "../x")))),
            Step(
                "several", 5,
                ask(
                    .fetch(FetchRequest(id: 18, path: "sha")), .fetch(FetchRequest(id: 19, path: "missing")),
                    .list(ListRequest(id: 20, path: "missing")))),
        ]
    }

    private static var cancels: [Step] {
        [
            Step("taking back what nobody asked for", 0, Frames.encoded(.cancel(99))),
            Step(
                "taking back a request", 1,
                ask(.fetch(FetchRequest(id: 30, path: "parts/long"))) + Frames.encoded(.cancel(30)), isAtOnce: true),
        ]
    }

    private static var removals: [Step] {
        [
            Step("a file", 1, ask(.remove(RemoveRequest(id: 40, path: "kinds/place")))),
            Step("again", 1, ask(.remove(RemoveRequest(id: 41, path: "kinds/place")))),
            Step("a folder, only if it is a file", 1, ask(.remove(RemoveRequest(id: 42, path: "kinds")))),
            Step("with all in it", 1, ask(.remove(RemoveRequest(id: 43, path: "kinds", isRecursive: true)))),
            Step("the top", 1, ask(.remove(RemoveRequest(id: 44, path: "", isRecursive: true)))),
        ]
    }
}

// MARK: Faults and the end

extension RecordedConversationScript {
    private static var faults: [Self] {
        let begin = begin(80, "fault", 5)
        let unknownDigest = Frames.patched(begin, 7 + 18, 9)
        let frames: [(String, [UInt8])] = [
            ("a second hello", Frames.hello), ("data outside an upload", Frames.data(hello)),
            ("an unknown function", Frames.patched(Frames.encoded(.ping(1)), 3, 99)),
            ("another version", Frames.patched(Frames.encoded(.ping(1)), 1, 1)),
            ("a body that is too long", [0, 2, 0, 17, 0, 0x40, 0x01]),
            ("a damaged path", Frames.patched(begin, begin.count - 8, 0x7A)),
            ("an unknown digest function", unknownDigest),
            ("an unknown compress flag", Frames.patched(Frames.data(hello), 4, 2)),
            ("what only servers say", Frames.encoded(.accept(id(1)))), ("a begin inside an upload", begin + begin),
            ("a question inside an upload", begin + Frames.data(hello) + Frames.encoded(.resume(resumed))),
            ("the same id twice", Frames.encoded(.lookup(Lookup([id(82), id(82)], digest: .xxh128)))),
            ("an upload, then a fault", upload(81, "before-the-fault", hello) + Frames.data(hello)),
        ]
        return [
            Self("fault: no hello", [Step("an upload", 0, begin)]),
            Self("fault: TLS", [Step("a handshake", 0, [0x16, 0x03, 0x01, 0x00, 0x05, 1, 0, 0, 1, 0])]),
            Self("without a word", [Step("nothing but an end of the greeting", 0, Frames.hello, goodbyeFrame)]),
        ]
            + frames.map { title, bytes in
                Self("fault: \(title)", [greeting(run: 6), Step(title, 0, bytes, isAtOnce: true)])
            }
    }

    private static let goodbyeFrame = Frames.encoded(.goodbye(Goodbye(.committed)))

    /// Resumes the upload that is open.
    private static var resumed: Begin { Begin(id: id(80), path: "fault", size: 5, scope: .multipart) }

    private static var stopping: Self {
        let long = PartedUpload("late/long", Self.long.content, id: id(90))
        let other = PartedUpload("late/other", Self.long.content, id: id(91))
        return Self(
            "the server stops",
            [
                greeting(run: 7),
                Step("a part", 1, long.part(Limits.blockSize..<long.content.count, id: id(92))),
                Step("a new upload", 1, begin(93, "late/new", 5), isAtTheEnd: true),
                Step("which closes it", 0, Frames.data(hello), Frames.end(hello)),
                Step("a question", 1, other.question),
                Step("looked up", 1, Frames.encoded(.lookup(Lookup([id(1)], digest: .xxh128)))),
                Step("a part of another upload", 1, other.part(Limits.blockSize..<other.content.count, id: id(94))),
                Step("what it waits for is taken back", 0, long.withdrawal),
            ])
    }
}

extension String {
    fileprivate var bytes: [UInt8] { Array(utf8) }
}
