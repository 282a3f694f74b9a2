import TransferCodec
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferTestSupport

/// Answers of a hostile server: each message gets a random answer, which is right or has a fault. Sans-IO; the same
/// seed and messages give the same answers. The script records what the client has sent and signed.
struct HostileScript {
    enum Arrival {
        case message(Message)
        case data([UInt8])
    }

    struct Reply {
        var bytes: [UInt8] = []
        /// Whether the connection ends after these answers.
        var ends = false
    }

    /// A receipt that a client has signed, and the client's key.
    struct Signed {
        let settle: SettleRequest
        let key: PublicKey
    }

    /// Content of all uploads, concatenated.
    private(set) var content: [UInt8] = []
    /// Paths and link targets that the client has named.
    private(set) var named: Set<String> = []
    private(set) var signed: [Signed] = []
    /// Deliveries as they were last listed.
    private(set) var listed: [UploadID: ListedDelivery] = [:]
    /// The messages received and the answers sent, one per line.
    private(set) var transcript: [String] = []
    /// Bytes of all lists sent so far.
    private var flood = 0
    /// Number of answers left. After the last one the server falls silent; otherwise lists of lists would never end.
    private var left = 400

    private var random: SplitMix64
    private var wantsReceipts = false
    /// One in this many choices is a fault: with few faults a conversation continues for long, with many it ends soon.
    private var rarity = 1
    private var begun: (begin: Begin, bytes: [UInt8])?
    let sample: HostileSample

    /// The key of another server, which this server often claims as its own.
    static let victim = KeyPair(secret: Bytes32([UInt8](repeating: 0x52, count: 32)) ?? Bytes32())

    init(seed: UInt64, _ sample: HostileSample) {
        (random, self.sample) = (SplitMix64(seed: seed), sample)
        rarity = any([60, 25, 10, 4])
    }

    // MARK: Chance

    mutating func chance(_ one: Int, in many: Int) -> Bool { Int.random(in: 0..<many, using: &random) < one }

    mutating func any<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &random)] }

    /// Returns the usual answer, or a fault.
    private mutating func mostly<T>(_ usual: T, _ others: [T]) -> T { chance(1, in: rarity) ? any(others) : usual }

    mutating func bytes(_ count: Int) -> [UInt8] { random.bytes(count) }

    // MARK: Answers

    mutating func reply(to arrival: Arrival, of client: PublicKey?, on connection: Int32) -> Reply {
        let reply = reply(to: arrival, of: client)
        let what = if case .message(let message) = arrival { "\(message)".prefix(200) } else { "data" as Substring }
        transcript.append("\(connection): \(what) -> \(reply.bytes.count) bytes\(reply.ends ? ", end" : "")")
        return reply
    }

    private mutating func reply(to arrival: Arrival, of client: PublicKey?) -> Reply {
        left -= 1
        guard left > 0 else { return Reply(ends: true) }
        var reply = Reply()
        switch arrival {
        case .data(let bytes):
            content += bytes
            begun?.bytes += bytes
            return reply
        case .message(let message):
            let answers = answers(to: message, of: client)
            for answer in answers { reply.bytes += answer }
        }
        if !reply.bytes.isEmpty, chance(1, in: 8 * rarity) { reply.bytes = Array(reply.bytes.dropLast(3)) + bytes(7) }
        reply.ends = chance(1, in: 12 * rarity)
        return reply
    }

    static func frame(_ message: Message) -> [UInt8] {
        var bytes: [UInt8] = []
        message.encode(into: &bytes)
        return bytes
    }

    private mutating func answers(to message: Message, of client: PublicKey?) -> [[UInt8]] {
        switch message {
        case .hello(let hello):
            wantsReceipts = hello.features.contains(.receipts)
            return [Self.frame(.welcome(welcome()))]
        case .ping(let token): return [Self.frame(.pong(token))]
        case .begin(let begin): return began(begin)
        case .resume(let begin):
            named.insert(begin.path)
            return [Self.frame(mostly(.accept(begin.id), [.result(result(begin, size: begin.size ?? 0, nil))]))]
        case .end(let end): return ended(end)
        case .lookup(let lookup):
            guard chance(1, in: 4), let id = lookup.ids.first else { return [Self.frame(.unknown(lookup.ids))] }
            let known = UploadResult(
                id: id, code: code(), isDurable: chance(1, in: 2), size: 3,
                digest: sample.digest(bytes(3), lookup.digest),
                storedPath: any(HostileSample.names))
            return [Self.frame(.result(known))]
                + (lookup.ids.count > 1 ? [Self.frame(.unknown(Array(lookup.ids.dropFirst())))] : [])
        case .list(let list): return entries(list)
        case .fetch(let fetch): return file(fetch)
        case .remove(let remove):
            named.insert(remove.path)
            return [outcome(remove.id)]
        case .move(let move): return [outcome(move.id)]
        case .make(let make): return [outcome(make.id)]
        case .compare(let compare): return [outcome(compare.id)]
        case .introduce(let introduce): return [outcome(introduce.id)]
        case .people(let people): return persons(people)
        case .mail(let mail): return deliveries(mail)
        case .settle(let settle):
            if settle.signature != nil, let client { signed.append(Signed(settle: settle, key: client)) }
            return [outcome(settle.id, usual: .completed)]
        default: return []
        }
    }

    private mutating func welcome() -> Welcome {
        let key = any([nil, Self.victim.key.raw.bytes, HostileServer.key.key.raw.bytes])
        return Welcome(
            serverKey: key, serverKeyProof: chance(1, in: 3) ? bytes(64) : nil,
            features: [.files, .mail, .folders, .trees, .versions, .trashes, .holes, .pieces])
    }

    private mutating func code() -> ResultCode {
        mostly(
            .committed,
            [.alreadyStored, .skipped, .staged, .completed, .stored, ResultCode(rawValue: 9_999), .storageFailed])
    }

    private mutating func outcome(_ id: UInt32, usual: ResultCode = .completed, count: Int = 0) -> [UInt8] {
        let code = mostly(usual, [.notFound, .committed, .storageFailed, ResultCode(rawValue: 9_999), .pathConflict])
        return Self.frame(
            .outcome(
                Outcome(
                    id: mostly(id, [id &+ 1, 0]), code: code, isDurable: chance(1, in: 2),
                    count: mostly(UInt64(count), [0, 1, .max]),
                    message: any(["", "\u{1B}[2Jdone\n"]))))
    }

    // MARK: Uploads

    private mutating func began(_ begin: Begin) -> [[UInt8]] {
        named.insert(begin.path)
        begun = (begin, [])
        return begin.expectsAccept ? [Self.frame(.accept(begin.id))] : []
    }

    private mutating func ended(_ end: End) -> [[UInt8]] {
        guard let (begin, _) = begun else { return [] }
        begun = nil
        var result = result(begin, size: end.size, end.digest)
        if case .part = begin.scope, chance(4, in: 5) { result.code = .staged }
        var frames = [Self.frame(.result(result))] + (chance(1, in: 20) ? [Self.frame(.result(result))] : [])
        if wantsReceipts {
            frames.append(
                Self.frame(
                    .receipts(
                        SignedBatch(number: any([1, .max]), time: 5, count: 1, signature: bytes(64), sender: "me")))
            )
        }
        return frames
    }

    private mutating func result(_ begin: Begin, size: UInt64, _ digest: Digest?) -> UploadResult {
        let other = sample.digest(bytes(3), begin.digest)
        return UploadResult(
            id: mostly(begin.id, [.random(using: &random), .none]), code: code(), isDurable: chance(3, in: 4),
            size: mostly(size, [0, .max]), digest: mostly(digest ?? other, [other]),
            storedPath: mostly(begin.path, HostileSample.names), message: any(["", "\u{202E}gnp.exe"]))
    }

    // MARK: Files

    private mutating func entries(_ list: ListRequest) -> [[UInt8]] {
        guard !list.isAboutItself else { return itself(list) }
        var (frames, sum) = ([[UInt8]](), 0)
        // Long lists, until all of them together exceed a few MiB.
        let isFlood = chance(1, in: 30) && flood < 4 << 20
        for _ in 0..<(isFlood ? 256 : 1) {
            let count = isFlood ? 64 : Int.random(in: 0...4, using: &random)
            let entries = (0..<count).map { number in entry(isFlood ? "f\(number)-\(random.next())" : nil) }
            let frame = Self.frame(.entries(Entries(id: list.id, entries)))
            if isFlood { flood += frame.count }
            frames.append(frame)
            sum += count
        }
        return frames + [outcome(list.id, count: sum)]
    }

    private mutating func itself(_ list: ListRequest) -> [[UInt8]] {
        var own = entry(nil)
        own.name = mostly(list.path.split(separator: "/").last.map(String.init) ?? "", HostileSample.names)
        let isFolder = ["", "in", "source", "sub"].contains(own.name)
        own.form = mostly(isFolder ? .directory : .file, [.symbolicLink, .other])
        return [Self.frame(.entries(Entries(id: list.id, [own]))), outcome(list.id, count: 1)]
    }

    private mutating func entry(_ name: String?) -> ListedEntry {
        let form = mostly(ListedEntry.Form.file, [.directory, .symbolicLink, .other])
        let name = name ?? mostly(any(["a", "b.txt", "sub", "A"]), HostileSample.names)
        return ListedEntry(
            form, name: name, size: mostly(UInt64(sample.content(of: name).count), [0, 1 << 40, Limits.uploadSize]),
            modified: Timestamp(seconds: any([1, .min, .max]), nanoseconds: 5), permissions: any([0o644, 0o7777, 0]),
            version: FileVersion(high: 1, low: UInt64(name.utf8.count)),
            digest: chance(1, in: 2) ? sample.digest(sample.content(of: name), any(DigestFunction.allCases)) : nil,
            extras: form == .symbolicLink || chance(1, in: 4)
                ? ListedEntry.Extras(
                    names: any([1, 2, .max]), target: form == .symbolicLink ? Array(any(sample.targets).utf8) : [])
                : nil)
    }

    private mutating func file(_ fetch: FetchRequest) -> [[UInt8]] {
        guard !chance(1, in: 2 * rarity) else { return [outcome(fetch.id, usual: any([.notFound, .completed]))] }
        let name = fetch.path.split(separator: "/").last.map(String.init) ?? ""
        var content = fetch.delivery.map { sample.content(of: $0) } ?? sample.content(of: name)
        if chance(1, in: 2 * rarity) { content = bytes(any([0, 1, content.count, 70_000])) }
        let offset = min(fetch.offset, UInt64(content.count))
        let found = FetchedFile(
            id: fetch.id, permissions: any([0o644, 0o7777]), size: mostly(UInt64(content.count), [0, 1 << 40]),
            modified: Timestamp(seconds: 1, nanoseconds: 0),
            version: FileVersion(high: 1, low: UInt64(name.utf8.count)),
            offset: chance(1, in: 2) ? offset : 0)
        var frames = [Self.frame(.file(found))]
        let digester = ContentDigester(fetch.digest)
        let rest = Array(content[Int(min(found.offset, UInt64(content.count)))...])
        for start in stride(from: 0, to: rest.count, by: 60_000) {
            let piece = Array(rest[start..<min(start + 60_000, rest.count)])
            var frame: [UInt8] = []
            FrameHeader(.data, encoding: mostly(.stored, [.zlib, .zstd, .hole]), bodyLength: piece.count).encode(
                into: &frame)
            frames.append(frame + piece)
        }
        content.withUnsafeBytes { digester.update($0) { _, _ in } }
        let digest = mostly(digester.finish().digest, [sample.digest(bytes(2), fetch.digest)])
        return frames + [Self.frame(.end(End(size: mostly(UInt64(content.count), [0, .max]), digest: digest)))]
    }

    // MARK: People

    private mutating func persons(_ people: PeopleRequest) -> [[UInt8]] {
        let own = ListedPerson("me", isHere: true, takesFromClient: true, isClient: true)
        let bob = ListedPerson(
            mostly("bob", ["", "\u{1B}[31mbob", "b\u{200B}ob"]), isHere: true, takesFromClient: true,
            sealingKey: mostly(sample.certificate, [nil, bytes(137), []]))
        let persons =
            people.isAboutItself ? mostly([own], [[], [own, own], [bob]]) : mostly([own, bob], [[bob, bob], []])
        return [Self.frame(.persons(Persons(id: people.id, persons))), outcome(people.id, count: persons.count)]
    }

    private mutating func deliveries(_ mail: MailRequest) -> [[UInt8]] {
        var found: [ListedDelivery] = []
        for number in 0..<Int.random(in: 0...4, using: &random) {
            let delivery = delivery(UInt64(number) + mail.after + 1)
            listed[delivery.id] = delivery
            found.append(delivery)
        }
        return [Self.frame(.deliveries(Deliveries(id: mail.id, found))), outcome(mail.id, count: found.count)]
    }

    private mutating func delivery(_ number: UInt64) -> ListedDelivery {
        let parcel = any(sample.parcels)
        let listed = mostly(parcel.content, [bytes(3), []])
        return ListedDelivery(
            number: number, id: mostly(parcel.id, [any(sample.parcels).id]), state: .queued,
            person: mostly("alice", ["bob", "\u{202E}"]),
            name: mostly(parcel.name, HostileSample.names.filter { !$0.isEmpty }), kind: .file,
            size: mostly(UInt64(listed.count), [0, 1 << 40]), digest: sample.digest(listed, mostly(.sha256, [.xxh128])),
            queued: 1, changed: any([1, .max]), permissions: any([nil, 0o777]),
            note: mostly(parcel.note, [nil, bytes(600), any(sample.parcels).note]), isUnproven: chance(1, in: 5))
    }
}
