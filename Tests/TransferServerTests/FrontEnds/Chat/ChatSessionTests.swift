import Glibc
import Testing
import TransferAccess
import TransferClassic
import TransferDatabase
import TransferIO
import TransferIntake
import TransferKeys
import TransferMail
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferServer

/// Jsonline clients of a complete server send texts and pictures to each other.
@Suite(.timeLimit(.minutes(10)), .oneServer) struct ChatSessionTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func serving(
        people: [String] = [], _ options: [(name: String, value: String?)] = [],
        change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer, Endpoint) throws -> Void
    ) async throws {
        let access = try AccessOptions(options)
        try await TransferServerTests.serving(
            { configuration in
                configuration.classic = [ClassicListener(.jsonline, on: TestServer.anyPort, access, people: people)]
                change(&configuration)
            }, in: directory
        ) { server in
            try body(server, server.chat())
            if server.isPlain { try server.checkServes() }
        }
    }

    private static func content(_ size: Int) -> [UInt8] { SplitMix64.bytes(seed: UInt64(size), size) }

    /// Sends heartbeats of the clients until no mail waits.
    private func beat(_ clients: ChatClient..., to server: TestServer) throws {
        try server.waitUntil("all has arrived") {
            for client in clients { client.beat() }
            return server.mail.isEmpty
        }
    }

    // MARK: From one client to another

    @Test func bothAreThere() async throws {
        try await serving { [self] server, endpoint in
            let (alice, bob) = (try ChatClient(endpoint, "alice"), try ChatClient(endpoint, "bob"))
            try server.waitUntil("both are here") { server.core.intake.mailroom?.visitors == 2 }
            let picture = Self.content(300_000)
            alice.say("img", to: "bob", picture)
            alice.say(to: "bob", "hi")
            #expect(try bob.next() == ChatClient.Message(type: "img", source: "alice", body: picture))
            #expect(try bob.next() == .txt("alice", "hi"))
            bob.say(to: "alice", "你好")
            #expect(try alice.next() == .txt("bob", "你好"))
            try beat(alice, bob, to: server)
            #expect(server.tree.isEmpty && server.parts.isEmpty)
        }
    }

    /// An absent recipient gets the mail in order, and again until the server knows that the client has received it.
    @Test func whoWasAwayGetsItWhenHeComes() async throws {
        try await serving { [self] server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            try ChatClient(endpoint, "bob").raw.leave()
            let texts = (0..<100).map { "\($0)" }
            for text in texts { alice.say(to: "bob", text) }
            try server.waitUntil("all wait") { server.mail.count == texts.count }
            for _ in 0..<2 {
                let bob = try ChatClient(endpoint, "bob")
                for text in texts { #expect(try bob.next() == .txt("alice", text)) }
                try bob.raw.leave()
                #expect(server.mail.count == texts.count)
            }
            let bob = try ChatClient(endpoint, "bob")
            for text in texts { #expect(try bob.next() == .txt("alice", text)) }
            try beat(bob, to: server)
            alice.say(to: "bob", "the end")
            #expect(try bob.next() == .txt("alice", "the end"))
        }
    }

    /// Pictures larger than the sockets' buffers, sent in alternating pieces, are delivered. A recipient that reads
    /// slowly delays no other client.
    @Test func largePictures() async throws {
        try await serving { [self] server, endpoint in
            let bob = try ChatClient(endpoint, "bob")
            let (alice, carol) = (try ChatClient(endpoint, "alice"), try ChatClient(endpoint, "carol"))
            try server.waitUntil("all are here") { server.core.intake.mailroom?.visitors == 3 }
            let pictures = [Self.content(9_000_001), Self.content(8_388_608)]
            let streams = zip([alice, carol], pictures).map {
                ChatClient.message("img", from: $0.name, to: "bob", $1)
            }
            for start in stride(from: 0, to: 9_100_000, by: 100_003) {
                for (client, stream) in zip([alice, carol], streams) where start < stream.count {
                    client.raw.send(Array(stream[start..<min(stream.count, start + 100_003)]))
                }
            }
            try server.waitUntil("both are stored") { server.mail.count == 2 && server.parts.isEmpty }
            alice.say(to: "carol", "done")
            #expect(try carol.next() == .txt("alice", "done"))
            let got = [try bob.next(), try bob.next()]
            #expect(got.allSatisfy { message in pictures.contains { $0 == message.body } } && got[0] != got[1])
            try beat(bob, carol, to: server)
        }
    }

    /// A client writes everything before it reads anything, and writes to itself.
    @Test func toOneself() async throws {
        try await serving { [self] server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            let picture = Self.content(5_000_000)
            for _ in 0..<3 { alice.say("img", to: "alice", picture) }
            for _ in 0..<3 { #expect(try alice.next().body == picture) }
            try beat(alice, to: server)
        }
    }

    /// A message is addressed to a single name. A message without recipient is stored as a file.
    @Test func whatIsForNobody() async throws {
        try await serving([("folder", "chat")]) { server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            alice.say(to: "nobody", "lost")
            let answer = try alice.next()
            #expect(answer.source == "transfer" && String(decoding: answer.body, as: UTF8.self).contains("'nobody'"))
            alice.say(to: "", "kept")
            try server.waitUntil("it is stored") { server.tree.count == 2 }
            #expect(server.tree.contains { $0.hasPrefix("chat/text-") && $0.contains("-alice-") })
        }
    }

    // MARK: Names

    @Test func theNewestConnectionHasTheName() async throws {
        try await serving { server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            let older = try ChatClient(endpoint, "bob")
            try server.waitUntil("both are here") { server.core.intake.mailroom?.visitors == 2 }
            let newer = try ChatClient(endpoint, "bob")
            #expect(try older.isClosed())
            alice.say(to: "bob", "hi")
            #expect(try newer.next() == .txt("alice", "hi"))
        }
    }

    @Test(arguments: ["a/b", "..", "\\u0007", "transfer"]) func namesThatNobodyCanHave(_ name: String) async throws {
        try await serving { server, endpoint in
            let client = try ChatClient(endpoint, name)
            client.say(to: "alice", "hi")
            #expect(try client.next().source == "transfer")
            #expect(server.mail.isEmpty)
        }
    }

    /// The server ignores the messages after the fault.
    @Test func twoNamesAreAFault() async throws {
        try await serving { server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            alice.raw.send(ChatClient.message("txt", from: "bob", to: "alice", [1]))
            #expect(try alice.next().source == "transfer")
            #expect(try alice.isClosed())
            #expect(server.core.intake.mailroom?.everybody.map { $0.name } == ["alice"])
        }
    }

    private func listed(_ body: (KeyPair) throws -> Void) throws -> KeyPair {
        let lists = try StoreKind.current.access(in: directory)
        let key = KeyPair()
        try lists.admit(AuthorizedKey(key.key, name: "bob"))
        try body(key)
        return key
    }

    private static let secured: @Sendable (inout ServerConfiguration) -> Void = { configuration in
        configuration.security = .identity
        configuration.access = .listed(owner: nil)
    }

    /// A name that a client with a key has is reserved for that client.
    @Test func namesOfTheListsAreRefused() async throws {
        _ = try listed { _ in }
        try await serving(change: Self.secured) { server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            let bob = try ChatClient(endpoint, "bob")
            #expect(String(decoding: try bob.next().body, as: UTF8.self).contains("people="))
            #expect(try bob.isClosed())
            // The mailbox of the name exists all the same, and the sender has an unproven name.
            alice.say(to: "bob", "hi")
            try server.waitUntil("it waits") { server.core.intake.mailroom?.waiting == 1 }
            #expect(server.core.intake.mailroom?.person("alice")?.isUnproven == true)
        }
    }

    /// With permission, a client without key shares the mailbox of a name with the client that has the key.
    @Test func whoIsAllowedHasTheMailboxOfTheName() async throws {
        let key = try listed { _ in }
        try await serving(people: ["bob"], change: Self.secured) { server, endpoint in
            let bob = try ChatClient(endpoint, "bob")
            let alice = try ChatClient(endpoint, "alice")
            try server.waitUntil("both are here") { server.core.intake.mailroom?.visitors == 2 }
            let listed = try server.securedClient(key)
            listed.send(Frames.hello)
            #expect(
                try listed.codes(2, to: Self.upload("bob", 1) + Self.upload("alice", 2)) == [.committed, .committed])
            #expect(try bob.next() == ChatClient.Message(type: "img", source: "bob", body: [1, 2, 3]))
            #expect(try alice.next() == ChatClient.Message(type: "img", source: "bob", body: [1, 2, 3]))
            try server.waitUntil("both have it") {
                for client in [alice, bob] { client.beat() }
                return server.mail.isEmpty
            }
            alice.say("img", to: "bob", [7, 7])
            #expect(try bob.next().body == [7, 7])
        }
    }

    private static func upload(_ name: String, _ number: UInt64, _ kind: ContentKind = .picture) -> [UInt8] {
        let begin = Begin(
            id: UploadID(high: 9, low: number), path: "x.bin", size: 3, kind: kind, recipients: Recipients([name]))
        return Frames.encoded(.begin(begin)) + Frames.data([1, 2, 3]) + Frames.end([1, 2, 3])
    }

    /// Content of other kinds waits for a program that can receive it, and does not delay the rest.
    @Test func whatTheWireCannotCarryWaits() async throws {
        let key = try listed { _ in }
        try await serving(change: Self.secured) { server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            try server.waitUntil("she is here") { server.core.intake.mailroom?.visitors == 1 }
            let bob = try server.securedClient(key)
            bob.send(Frames.hello)
            let kinds: [ContentKind] = [.file, .audio, .text, .location]
            let uploads = kinds.enumerated().flatMap { Self.upload("alice", UInt64($0), $1) }
            #expect(try bob.codes(4, to: uploads) == kinds.map { _ in .committed })
            #expect(try alice.next().type == "txt")
            #expect(try alice.next().type == "txt")
            try server.waitUntil("the texts have arrived") {
                alice.beat()
                return server.mail.count == 2
            }
        }
    }

    /// A connected client loses its name when the name is given to a client with a key.
    @Test func aNameThatSomebodyGetsAKeyForIsLost() async throws {
        _ = try listed { _ in }
        try await serving(change: Self.secured) { [self] server, endpoint in
            let dora = try ChatClient(endpoint, "dora")
            dora.say(to: "bob", "one")
            try server.waitUntil("it waits") { server.core.intake.mailroom?.waiting == 1 }
            let lists = try StoreKind.current.access(in: directory)
            try lists.admit(AuthorizedKey(KeyPair().key, name: "dora"))
            dora.say(to: "bob", "two")
            #expect(String(decoding: try dora.next().body, as: UTF8.self).contains("people="))
            #expect(try dora.isClosed())
            #expect(server.core.intake.mailroom?.waiting == 1)
        }
    }

    // MARK: Failures

    /// If the server briefly has no file descriptors, no mail is lost: the client reconnects.
    @Test(.directoryOnly) func whatCannotBeReadNowIsHandedOnLater() async throws {
        let fails = Locked(false)
        var foundations = ServerFoundations()
        foundations.openStore = { (configuration) throws(Failure) in
            let disk = Disk(interception: { call, body in
                // The file of mail has the ID of the upload and random digits as its name.
                guard case .open(_, let name, let flags) = call, name.utf8.count == 49, flags & O_ACCMODE == O_RDONLY,
                    fails.withLock(\.self)
                else { return body() }
                return -Int(EMFILE)
            })
            return OpenedStore(
                try FileStore(
                    path: configuration.directory, durability: .commit, fileSystem: nil, disk: disk))
        }
        try await TransferServerTests.serving(
            { configuration in
                configuration.classic = [ClassicListener(.jsonline, on: TestServer.anyPort, AccessOptions())]
            }, in: directory, on: foundations
        ) { server in
            let endpoint = try server.chat()
            let alice = try ChatClient(endpoint, "alice")
            try ChatClient(endpoint, "bob").raw.leave()
            alice.say(to: "bob", "later")
            try server.waitUntil("it waits") { server.core.intake.mailroom?.waiting == 1 }
            fails.withLock { $0 = true }
            let unlucky = try ChatClient(endpoint, "bob")
            _ = try? unlucky.next()
            #expect(try unlucky.isClosed())
            fails.withLock { $0 = false }
            #expect(try ChatClient(endpoint, "bob").next() == .txt("alice", "later"))
        }
    }

    /// Mail whose content has changed is not delivered. Other mail is.
    @Test(.directoryOnly) func whatIsRottenIsNotHandedOn() async throws {
        try await serving { [self] server, endpoint in
            let alice = try ChatClient(endpoint, "alice")
            try ChatClient(endpoint, "bob").raw.leave()
            alice.say(to: "bob", "rotten")
            try server.waitUntil("it waits") { server.mail.count == 1 }
            let path = directory.path("store/") + (server.mail.first ?? "")
            #expect(TestServer.write(Array("Rotten".utf8), path))
            alice.say(to: "bob", "good")
            let bob = try ChatClient(endpoint, "bob")
            #expect(try bob.next() == .txt("alice", "good"))
        }
    }

    /// A client that reads nothing is dropped, whatever it sends meanwhile.
    @Test func whoTakesNothingIsDropped() async throws {
        try await serving(change: { $0.timeouts.silence = .seconds(2) }) { server, endpoint in
            let picture = Self.content(16 << 20)
            let bob = try ChatClient(endpoint, "bob")
            try server.waitUntil("he is here") { server.core.intake.mailroom?.visitors == 1 }
            let alice = try RawClient(endpoint)
            for _ in 0..<2 { alice.send(ChatClient.message("img", from: "alice", to: "bob", picture)) }
            try server.waitUntil("he is dropped") {
                bob.beat()
                alice.send(ChatClient.heartbeat("alice"))
                return server.core.intake.mailroom?.isHere("bob") == false
            }
            try server.waitUntil("both wait, and she is served") {
                alice.send(ChatClient.heartbeat("alice"))
                return server.mail.count == 2
            }
            #expect(server.core.intake.mailroom?.isHere("alice") == true)
        }
    }

    @Test func silenceEndsAConnection() async throws {
        try await growingTimeout(from: 1000) { milliseconds in
            let silence = Interval.milliseconds(milliseconds)
            try await serving(change: { $0.timeouts.silence = silence }) { server, endpoint in
                let (silent, nameless) = (try ChatClient(endpoint, "bob"), try RawClient(endpoint))
                let end = MonotonicTime.now + silence + silence + silence
                let alice = try ChatClient(endpoint, "alice")
                try server.waitUntil("the silent ones have gone, and longer") {
                    alice.beat()
                    return server.core.intake.mailroom?.isHere("bob") == false && MonotonicTime.now > end
                }
                #expect(try silent.isClosed() && nameless.bytes(1).isEmpty)
                alice.say(to: "alice", "here")
                let heard = try early { try alice.next() }
                #expect(heard == .txt("alice", "here"))
            }
        }
    }

    /// The server does not start with a jsonline listener and without mailboxes.
    @Test(.directoryOnly) func noServerWithoutMailboxes() async throws {
        var foundations = ServerFoundations()
        foundations.openMail = { (_, _, _) throws(RecordsError) in
            throw RecordsError(.damaged, "The mailboxes are damaged.")
        }
        await #expect(throws: ServerError.self) {
            try await TransferServerTests.serving(
                { configuration in
                    configuration.classic = [ClassicListener(.jsonline, on: TestServer.anyPort, AccessOptions())]
                }, in: directory, on: foundations
            ) { _ in }
        }
    }
}

extension TestServer {
    /// Address of the only classic listener.
    fileprivate func chat() throws -> Endpoint {
        guard let endpoint = classicEndpoints.first else { throw RawClient.Failure(description: "no classic listener") }
        return endpoint
    }

    fileprivate var core: ServerCore { server.core }

    fileprivate var isPlain: Bool { !core.configuration.security.isEncrypted }
}

extension RawClient {
    /// Ends sending, and waits until the server has processed all messages.
    fileprivate func leave() throws {
        endSending()
        while try !bytes(1).isEmpty {}
    }
}

extension Mailroom {
    fileprivate var waiting: Int { (try? ledger)?.waiting().count ?? 0 }
}
