import TransferModel

@testable import TransferProtocol

/// Values that many tests begin with.
enum Sample {
    static let id = UploadID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
    static let otherID = UploadID(high: 0, low: 1)
    static let xxh128 = Digest(.xxh128, Array(0x10..<0x20))
    static let sha256 = Digest(.sha256, Array(0x20..<0x40))

    static let folder = FolderDigest(count: 500, bytes: Array(0x30..<0x40))

    static let begin = Begin(
        id: id, path: "photos/2026/photo-0001.jpg", size: 4096, kind: .picture,
        modified: .init(seconds: 1_767_225_600, nanoseconds: 999_999_999), permissions: 0o644)

    static let describing: Outcome = {
        var outcome = Outcome(id: 7, code: .completed, count: 1)
        outcome.picture = #"{"decoded":true}"#
        return outcome
    }()

    static let unlisting: Outcome = {
        var outcome = Outcome(id: 7, code: .completed, count: 9)
        outcome.unlisted = .max
        return outcome
    }()

    static let keeping: Outcome = {
        var outcome = Outcome(id: 8, code: .completed, isDurable: true, count: 1)
        outcome.trash = batch
        return outcome
    }()

    static let replacing: UploadResult = {
        var result = UploadResult(id: id, code: .committed, isDurable: true, size: 4096, digest: xxh128)
        result.hasReplaced = true
        return result
    }()

    static let version = FileVersion(high: 0x0A0B_0C0D_0E0F_1011, low: 0x1213_1415_1617_1819)

    /// A file with all optional values, and a directory.
    static let entries = [
        ListedEntry(
            .file, name: "photo-0001.jpg", size: 4096,
            modified: .init(seconds: 1_767_225_600, nanoseconds: 999_999_999), permissions: 0o644, version: version,
            kind: .picture, digest: xxh128, stored: 1_767_225_600_500),
        ListedEntry(
            .directory, name: "写真 \n😀", size: 0, modified: .init(seconds: -1, nanoseconds: 0), permissions: 0o755),
    ]

    static let batch = TrashBatch(at: 1_767_225_600_000_000_000, number: 0xABC)

    static let moment = Timestamp(seconds: 1_767_225_600, nanoseconds: 5)

    static let attributes = ExtraAttributes(
        owner: ExtraAttributes.Owner(user: 1000, group: .max),
        extended: [
            ExtraAttributes.Extended(name: Array("user.b".utf8), value: [0, 255]),
            ExtraAttributes.Extended(name: Array("user.a".utf8), value: []),
        ])

    static let file = FetchedFile(
        id: 7, permissions: 0o600, size: 8 << 20, modified: .init(seconds: 0, nanoseconds: 1), version: version,
        offset: 4 << 20)

    /// Deliveries with and without optional values.
    static let deliveries = [
        ListedDelivery(
            number: 1, id: id, state: .queued, person: "alice", name: "photo.png", kind: .picture, size: 5,
            digest: xxh128,
            queued: 1_767_225_600_500, changed: 1_767_225_600_501),
        ListedDelivery(
            number: .max, id: otherID, state: .expired, person: "写真", name: "a/😀", kind: .file, size: 0, digest: sha256,
            queued: .min, changed: .max, modified: .init(seconds: -1, nanoseconds: 5), permissions: 0o640,
            note: [4, 5], receipt: [1, 2, 3]),
    ]

    /// At least one message for every function code except `data`, with and without optional values.
    static let messages: [Message] = [
        .hello(Hello(agent: "")),
        .hello(Hello(agent: "transfer/1.0", features: .receipts)),
        .hello(Hello(agent: "x", run: 0x0102_0304_0506_0708)),
        .hello(Hello(agent: "x", token: "pair_0_1", clientName: "camera")),
        .welcome(Welcome()),
        .welcome(
            Welcome(
                dataBody: 65_536, unacknowledgedUploads: 7, uploadSize: 1 << 40, heartbeat: 1_000, silence: 3_000,
                agent: "transfer/1.0", serverName: "attic", keeps: 604_800, serverKey: Array(0x40..<0x60),
                serverKeyProof: Array(0x80..<0xC0),
                directory: Array(0x60..<0x70))),
        .ping(0),
        .pong(.max),
        .goodbye(Goodbye(.committed)),
        .goodbye(Goodbye(.shuttingDown, "The server is stopping.")),
        .begin(Begin(id: id, path: "a", size: nil)),
        .begin(begin),
        .begin(
            Begin(
                id: otherID, path: "写真/😀 \n\"'.jpg", size: .max, kind: .location, digest: .sha256,
                conflict: .fail, expectsAccept: true, modified: .init(seconds: .min, nanoseconds: 0),
                permissions: 0)),
        .resume(Begin(id: id, path: "a", size: 1 << 33, scope: .multipart)),
        .resume(Begin(id: otherID, path: "a", size: nil, digest: .sha256, scope: .multipart)),
        .have(Have(id: id, first: 7, digests: [xxh128, xxh128])),
        .have(Have(id: id, first: .max - 1, digests: [sha256])),
        .lookup(Lookup([id], digest: .xxh128)),
        .lookup(Lookup([otherID, id], digest: .sha256)),
        .unknown([id]),
        .unknown((1...256).map { UploadID(high: 7, low: $0) }),
        .receipts(SignedBatch(number: 1, time: 0, count: 1, signature: Array(0x40..<0x80), sender: "")),
        .receipts(
            SignedBatch(
                number: .max - 4095, time: .max, count: 4096, signature: Array(0..<64),
                sender: String(repeating: "ü", count: 127))),
        .accept(id),
        .block(BlockDigest(index: 0, digest: xxh128)),
        .block(BlockDigest(index: .max, digest: sha256)),
        .end(End(size: 4096, digest: xxh128)),
        .end(End(size: .max, digest: Digest(.sha256Tree, sha256.bytes))),
        .abort,
        .received(Received(id: id, bytes: 1 << 32)),
        .result(UploadResult(id: id, code: .committed, isDurable: true, size: 4096, digest: xxh128)),
        .result(
            UploadResult(
                id: id, code: .alreadyStored, isDurable: true, size: 5_000_000,
                digest: Digest(.xxh128Tree, xxh128.bytes), storedPath: "photos/photo-1.jpg")),
        .result(
            UploadResult(
                id: id, code: .committed, isDurable: true, size: 1, digest: xxh128, receipt: Array(0x60..<0x90))),
        .result(
            UploadResult(
                id: id, code: .alreadyStored, size: 1, digest: sha256, storedPath: "a", kind: .location)),
        .result(replacing),
        .result(UploadResult(id: id, code: .busy, message: "Full; come back.", retryAfter: 1_500)),
        .result(UploadResult(ProtocolFault(.frameTooLarge, "Too large."))),
        .list(ListRequest(id: 0, path: "")),
        .list(ListRequest(id: .max, path: "photos/2026", isAboutItself: true, wantsDetails: true)),
        .list(ListRequest(id: 3, path: "a.jpg", isAboutItself: true, wantsPicture: true)),
        .entries(Entries(id: 1, [])),
        .entries(Entries(id: 2, entries)),
        .fetch(FetchRequest(id: 3, path: "a")),
        .fetch(
            FetchRequest(
                id: 4, path: "写真/😀 \n\"'.jpg", digest: .sha256, offset: 4 << 20, version: version, length: 8 << 20)),
        .file(file),
        .remove(RemoveRequest(id: 5, path: "a")),
        .remove(RemoveRequest(id: 6, path: "photos", isRecursive: true)),
        .outcome(Outcome(id: 7, code: .completed)),
        .outcome(unlisting), .outcome(keeping), .outcome(describing),
        .outcome(
            Outcome(id: 8, code: .busy, isDurable: true, count: .max, message: "Come back.", retryAfter: 1_500)),
        .remove(RemoveRequest(id: 7, path: "a", keepsInTrash: true)),
        .remove(RemoveRequest(id: 8, path: "", isRecursive: true, trash: .batch(batch))),
        .list(ListRequest(id: 9, path: "", wantsAll: true, trash: .top)),
        .make(MakeRequest(id: 1, .directory, path: "d", permissions: 0o755, attributes: attributes)),
        .make(MakeRequest(id: 2, .symbolicLink, path: "l", target: [0x2F, 0xFF], replaces: true, modified: moment)),
        .make(MakeRequest(id: 3, .hardLink, path: "h", target: Array("d/a".utf8))),
        .make(MakeRequest(id: 4, .nothing, path: "a", attributes: ExtraAttributes(extended: []))),
        .move(MoveRequest(id: 5, path: "a", to: "b")),
        .move(MoveRequest(id: 6, path: "a", to: "b/c", replaces: true, trash: .batch(batch))),
        .make(MakeRequest(id: 7, .nothing, path: "a", modified: moment, version: version)),
        .make(MakeRequest(id: 10, .hardLink, path: "h", target: [0x61], replaces: true, version: version)),
        .move(MoveRequest(id: 8, path: "a", to: "b", version: version)),
        .remove(RemoveRequest(id: 9, path: "a", keepsInTrash: true, version: version)),
        .begin(
            Begin(
                id: UploadID(high: 1, low: 9), path: "k", size: 1, permissions: 0o666, keepsPermissions: true,
                attributes: attributes)),
        .cancel(9), .compare(CompareRequest(id: 10, .entries, in: "", folder)),
        .compare(CompareRequest(id: .max, .uploads(.sha256), in: "a/b", folder)),
        .begin(Begin(id: id, path: "a", size: 3, recipients: Recipients(["bob", "写真"]))),
        .fetch(FetchRequest(id: 9, path: "", digest: .sha256, delivery: otherID)),
        .people(PeopleRequest(id: 1)), .people(PeopleRequest(id: .max, isAboutItself: true)),
        .persons(Persons(id: 1, [])),
        .persons(
            Persons(
                id: 2,
                [
                    ListedPerson("bob", isHere: true, takesFromClient: false, sealingKey: [1, 2, 3]),
                    ListedPerson("写真 \n", isHere: false, takesFromClient: true, isClient: true, isUnproven: true),
                ])),
        .mail(MailRequest(id: 1, .inbox)),
        .mail(MailRequest(id: 2, .sent, after: .max, watches: true, wantsReceipts: true, wantsEnded: true)),
        .deliveries(Deliveries(id: 1, [])), .deliveries(Deliveries(id: 2, deliveries)),
        .settle(SettleRequest(id: 1, .delivered, time: .min, [id])),
        .settle(
            SettleRequest(
                id: 2, .declined, time: .max, [id, otherID], signature: [UInt8](repeating: 7, count: 64))),
        .arrived(0), .arrived(.max), .introduce(IntroduceRequest(id: 5, sealingKey: [0xFF])),
    ]
}

extension Message {
    var frame: [UInt8] {
        var bytes: [UInt8] = []
        encode(into: &bytes)
        return bytes
    }

    /// The frame without its header.
    var checkedBody: [UInt8] { Array(frame.dropFirst(FrameHeader.shortSize)) }

    /// The frame without its header and without the check, so that a test can change it.
    var body: [UInt8] { checkedBody.dropLast(function.isChecked ? 3 + FrameCheck.size : 0) }

    static func decode(_ function: FunctionCode, body: [UInt8]) throws(ProtocolFault) -> Message {
        try decode(function, body: body.span.bytes)
    }

    /// - Parameter body: the body without a check; the check is added if the function requires one.
    static func decode(_ function: FunctionCode, unchecked body: [UInt8]) throws(ProtocolFault) -> Message {
        var body = body
        if function.isChecked { body.appendCheck(from: 0) }
        return try decode(function, body: body)
    }
}

extension FrameHeader {
    /// A whole frame with `data`.
    static func data(_ payload: [UInt8], _ encoding: BodyEncoding = .stored) -> [UInt8] {
        var bytes: [UInt8] = []
        FrameHeader(.data, encoding: encoding, bodyLength: payload.count).encode(into: &bytes)
        return bytes + payload
    }
}

/// The code of the fault that `body` throws, or nil.
func faultCode(_ body: () throws(ProtocolFault) -> Void) -> ResultCode? {
    do throws(ProtocolFault) {
        try body()
        return nil
    } catch {
        return error.code
    }
}
