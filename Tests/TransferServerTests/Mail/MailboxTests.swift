import Testing
import TransferAccess
import TransferKeys
import TransferMail
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSealing
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// People and their mailboxes on a running server.
    @Suite struct MailboxTests {
        private let directory: TemporaryDirectory
        private let lists: any AccessLists
        private let keys = ["alice": KeyPair(), "bob": KeyPair(), "carol": KeyPair()]
        private static let content = Array("a picture".utf8)

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
            for (name, pair) in keys { try lists.admit(AuthorizedKey(pair.key, name: name)) }
        }

        private func serving(
            _ body: @escaping @Sendable (TestServer, _ connect: (String) throws -> RawClient) throws -> Void
        )
            async throws
        {
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await TransferServerTests.serving(configure, in: directory) { [keys] server in
                try body(server) { name in
                    let client = try server.securedClient(keys[name])
                    client.send(Frames.hello)
                    return client
                }
            }
        }

        private static func upload(
            _ number: UInt64 = 1, for names: [String], content: [UInt8] = content, path: String = "photo.png"
        ) -> [UInt8] {
            let begin = Begin(
                id: UploadID(high: 3, low: number), path: path, size: UInt64(content.count), kind: .picture,
                recipients: Recipients(names))
            return Frames.encoded(.begin(begin)) + Frames.data(content) + Frames.end(content)
        }

        private func receiptKey(_ server: TestServer) throws -> ServerKey {
            let client = try server.securedClient(keys["bob"])
            client.send(Frames.hello)
            guard case .welcome(let welcome) = try client.nextMessage() else {
                throw RawClient.Failure(description: "no welcome")
            }
            #expect(welcome.features.contains(.mail))
            return ServerKey(try #require(Bytes32(welcome.serverKey ?? [])))
        }

        // MARK: From one client to another

        @Test func whoWasAwayGetsItAndSignsForIt() async throws {
            try await serving { [self] (server, connect) throws in
                let alice = try connect("alice")
                #expect(try alice.codes(to: Self.upload(for: ["bob"])) == [.committed])
                #expect(try alice.codes(to: Self.upload(for: ["bob"])) == [.alreadyStored])
                #expect(server.mail.count == 1)
                let bob = try connect("bob")
                let inbox = try bob.deliveries(.inbox)
                #expect(inbox.map(\.person) == ["alice"] && inbox.map(\.name) == ["photo.png"])
                let delivery = try #require(inbox.first)
                let fetched = try bob.fetch(FetchRequest(id: 1, path: "", delivery: delivery.id))
                #expect(fetched.content == Self.content)
                #expect(fetched.file?.size == UInt64(Self.content.count))
                #expect(try alice.deliveries(.sent).map(\.state) == [.fetched])
                let receiptKey = try receiptKey(server)
                let outcome = try bob.settle([delivery], as: "bob", by: keys["bob"], server: receiptKey)
                #expect(outcome.code == .completed && outcome.isDurable)
                #expect(server.mail == [])
                #expect(try bob.deliveries(.inbox) == [])
                #expect(try bob.fetch(FetchRequest(id: 1, path: "", delivery: delivery.id)).outcome?.code == .notFound)
                let sent = try alice.deliveries(.sent, withReceipts: true)
                #expect(sent.map(\.state) == [.delivered] && sent.map(\.person) == ["bob"])
                let line = try #require(sent.first?.receipt)
                #expect(String(decoding: line, as: UTF8.self).contains("\"to\":\"bob\",\"from\":\"alice\""))
                // Settling the delivery again changes nothing.
                #expect(try bob.settle([delivery], as: "bob", by: keys["bob"], server: receiptKey).code == .completed)
                #expect(server.tree == [])
            }
        }

        /// Decayed content is not delivered. Sending the mail again repairs it.
        @Test(.directoryOnly) func contentThatHasDecayedIsTakenAgain() async throws {
            try await serving { (server, connect) throws in
                let (alice, bob) = (try connect("alice"), try connect("bob"))
                #expect(try alice.codes(to: Self.upload(for: ["bob"])) == [.committed])
                let decayed = server.directory.path("store/") + (server.mail.first ?? "")
                #expect(TestServer.write(Array("A picture".utf8), decayed))
                let delivery = try #require(try bob.deliveries(.inbox).first)
                let request = FetchRequest(id: 1, path: "", delivery: delivery.id)
                #expect(try bob.fetch(request).outcome?.code == .contentLost)
                #expect(try alice.deliveries(.sent).map(\.state) == [.queued])
                #expect(try alice.codes(to: Self.upload(for: ["bob"])) == [.committed])
                #expect(try bob.fetch(request).content == Self.content)
                #expect(server.mail.count == 1)
            }
        }

        /// A removed machine could still read content sealed for it.
        @Test func whoIsThrownOutIsNotSealedFor() async throws {
            let laptop = KeyPair()
            try lists.admit(AuthorizedKey(laptop.key, name: "bob"))
            try await serving { [self] (_, connect) throws in
                let (alice, bob) = (try connect("alice"), try connect("bob"))
                let bobs = try #require(keys["bob"])
                let list = try [bobs, laptop].map { owner in
                    SealingCertificate(try SealingKey().recipient, by: owner, at: UTCTime(clamping: 1))
                }
                bob.ask(.introduce(IntroduceRequest(id: 1, sealingKey: list.flatMap(\.encoded))))
                #expect(try bob.outcome().code == .completed)
                #expect(try alice.sealers("bob") == list)
                _ = try lists.expel { $0.key == laptop.key }
                #expect(try alice.sealers("bob") == [list[0]])
                #expect(try bob.sealers("bob") == [list[0]])
            }
        }

        @Test func storedOnceForMany() async throws {
            try await serving { (server, connect) throws in
                let alice = try connect("alice")
                #expect(try alice.codes(to: Self.upload(for: ["bob", "carol", "alice"])) == [.committed])
                #expect(server.mail.count == 1)
                for name in ["bob", "carol"] {
                    let client = try connect(name)
                    let delivery = try #require(try client.deliveries(.inbox).first)
                    #expect(
                        try client.fetch(FetchRequest(id: 1, path: "", delivery: delivery.id)).content == Self.content)
                    client.ask(.settle(SettleRequest(id: 1, .delivered, time: 5, [delivery.id])))
                    #expect(try client.outcome().code == .completed)
                    #expect(server.mail.count == 1)
                }
                let own = try #require(try alice.deliveries(.inbox).first)
                alice.ask(.settle(SettleRequest(id: 1, .declined, time: 5, [own.id])))
                #expect(try alice.outcome().code == .completed)
                #expect(server.mail == [])
                #expect(
                    try alice.deliveries(.sent).map { "\($0.person) \($0.state)" } == [
                        "bob delivered", "carol delivered", "alice declined",
                    ])
            }
        }

        /// Requests for several deliveries are looked up together. A change of a delivery between them counts for the
        /// later requests.
        @Test func whatIsAskedTogetherIsAnsweredInOrder() async throws {
            try await serving { (server, connect) throws in
                let alice = try connect("alice")
                #expect(try alice.codes(to: Self.upload(for: ["bob", "carol"])) == [.committed])
                let bob = try connect("bob")
                let id = try #require(try bob.deliveries(.inbox).first).id
                func fetch(_ number: UInt32, _ id: UploadID) -> Request {
                    .fetch(FetchRequest(id: number, path: "", delivery: id))
                }
                let unknown = UploadID(high: 9, low: 9)
                let requests = [
                    fetch(1, id), fetch(2, unknown), fetch(3, id),
                    .settle(SettleRequest(id: 4, .declined, time: 0, [id])), fetch(5, id), fetch(6, unknown),
                ]
                bob.send(requests.flatMap { Frames.encoded($0.message) })
                #expect(try bob.fetched().content == Self.content)
                #expect(try bob.fetched().outcome?.code == .notFound)
                #expect(try bob.fetched().content == Self.content)
                #expect(try bob.outcome().code == .completed)
                #expect(try bob.fetched().outcome?.code == .notFound)
                #expect(try bob.fetched().outcome?.code == .notFound)
                // The content waits for the other recipient.
                #expect(server.mail.count == 1)
            }
        }

        /// Sealed mail has a note for its sender as well. A note without room beside a receipt is left out, and the box
        /// is still listed.
        @Test(arguments: [500, 10_000]) func sendersHaveTheNotes(_ size: Int) async throws {
            try await serving { [self] (server, connect) throws in
                let note = [UInt8](repeating: 7, count: size)
                let path = (0..<15).map { _ in String(repeating: "n", count: 255) }.joined(separator: "/")
                let begin = Begin(
                    id: UploadID(high: 3, low: 1), path: path, size: UInt64(Self.content.count),
                    recipients: Recipients(["bob"]), note: note)
                let alice = try connect("alice")
                let upload = Frames.encoded(.begin(begin)) + Frames.data(Self.content) + Frames.end(Self.content)
                #expect(try alice.codes(to: upload) == [.committed])
                let bob = try connect("bob")
                let delivery = try #require(try bob.deliveries(.inbox).first)
                #expect(delivery.note == note)
                #expect(try alice.deliveries(.sent).map(\.note) == [note])
                #expect(
                    try bob.settle([delivery], as: "bob", by: keys["bob"], server: receiptKey(server)).code
                        == .completed)
                let sent = try #require(try alice.deliveries(.sent, withReceipts: true).first)
                #expect(sent.receipt != nil && sent.note == (size < 1000 ? note : nil))
            }
        }

        /// Waiting mail survives a restart of the server.
        @Test func itSurvivesTheServer() async throws {
            try await serving { (_, connect) throws in
                #expect(try connect("alice").codes(to: Self.upload(for: ["bob"])) == [.committed])
            }
            try await serving { (_, connect) throws in
                let bob = try connect("bob")
                let delivery = try #require(try bob.deliveries(.inbox).first)
                #expect(try bob.fetch(FetchRequest(id: 1, path: "", delivery: delivery.id)).content == Self.content)
            }
        }

        // MARK: Other clients

        @Test func nobodySeesWhatIsForOthers() async throws {
            try await serving { (server, connect) throws in
                #expect(try connect("alice").codes(to: Self.upload(for: ["bob"])) == [.committed])
                let delivery = try #require(try connect("bob").deliveries(.inbox).first)
                let carol = try connect("carol")
                #expect(try carol.deliveries(.inbox) == [] && carol.deliveries(.sent) == [])
                #expect(
                    try carol.fetch(FetchRequest(id: 1, path: "", delivery: delivery.id)).outcome?.code == .notFound)
                carol.ask(.settle(SettleRequest(id: 1, .declined, time: 0, [delivery.id])))
                #expect(try carol.outcome().code == .notFound)
                // No path leads to the mail, and no list shows it.
                let file = try #require(server.mail.first)
                for path in [file, ".transfer/mail", ".transfer", "x/../\(file)"] {
                    #expect(try carol.fetch(FetchRequest(id: 1, path: path)).outcome?.code == .invalidPath)
                    #expect(try carol.list(path).outcome.code == .invalidPath)
                    #expect(try carol.remove(path, recursive: true).code == .invalidPath)
                }
                #expect(try carol.list().entries == [])
                #expect(server.mail == [file])
            }
        }

        /// A key that may only send has no mailbox to read.
        @Test func whoMayOnlySendSeesNothing() async throws {
            let camera = KeyPair()
            var options = AccessOptions()
            options.rights = .writeOnly
            try lists.admit(AuthorizedKey(camera.key, name: "carol-camera", options: options))
            try await serving { (server, connect) throws in
                let client = try server.securedClient(camera)
                client.send(Frames.hello)
                #expect(try client.codes(to: Self.upload(for: ["bob"])) == [.committed])
                client.ask(.mail(MailRequest(id: 1, .inbox)))
                #expect(try client.outcome().code == .forbidden)
                client.ask(.people(PeopleRequest(id: 1)))
                #expect(try client.outcome().code == .forbidden)
                // The client may learn what became of its own mail.
                #expect(try client.deliveries(.sent).map(\.person) == ["bob"])
            }
        }

        @Test func aReceiptHasToBeTheRecipientsOwn() async throws {
            try await serving { [self] (server, connect) throws in
                #expect(try connect("alice").codes(to: Self.upload(for: ["bob"])) == [.committed])
                let bob = try connect("bob")
                let delivery = try #require(try bob.deliveries(.inbox).first)
                let server = try receiptKey(server)
                #expect(try bob.settle([delivery], as: "bob", by: keys["carol"], server: server).code == .forbidden)
                var other = delivery
                other.size += 1
                #expect(try bob.settle([other], as: "bob", by: keys["bob"], server: server).code == .forbidden)
                bob.ask(
                    .settle(
                        SettleRequest(
                            id: 1, .delivered, time: .min, [delivery.id], signature: [UInt8](repeating: 0, count: 64))))
                #expect(try bob.outcome().code == .forbidden)
                #expect(try bob.deliveries(.inbox).count == 1)
            }
        }

        @Test func whoHasNoNameIsToldSo() async throws {
            try await TransferServerTests.serving { server in
                let client = try server.client()
                client.send(Frames.hello)
                #expect(try client.codes(to: Self.upload(for: ["bob"])) == [.forbidden])
                client.ask(.mail(MailRequest(id: 1, .inbox)))
                #expect(try client.outcome().code == .forbidden)
                client.ask(.people(PeopleRequest(id: 1)))
                #expect(try client.outcome().code == .forbidden)
            }
        }

        @Test func aNameThatNobodyHasIsRefused() async throws {
            try await serving { (server, connect) throws in
                let alice = try connect("alice")
                #expect(
                    try alice.codes(2, to: Self.upload(for: ["bob", "mallory"]) + Self.upload(2, for: ["\u{FFFD}\0"]))
                        == [.unknownRecipient, .unknownRecipient])
                #expect(try alice.codes(to: Self.upload(for: ["bob"], path: "../x")) == [.invalidPath])
                #expect(server.mail == [])
            }
        }

        @Test func aListSaysWhoseMailIsTaken() async throws {
            var options = AccessOptions()
            options.mailFrom = ["carol"]
            try lists.admit(AuthorizedKey(KeyPair().key, name: "dave", options: options))
            options = AccessOptions()
            options.rights = .writeOnly
            try lists.admit(AuthorizedKey(KeyPair().key, name: "camera", options: options))
            try await serving { (_, connect) throws in
                #expect(try connect("alice").codes(to: Self.upload(for: ["dave"])) == [.forbidden])
                #expect(try connect("carol").codes(to: Self.upload(for: ["dave"])) == [.committed])
                #expect(try connect("carol").codes(to: Self.upload(2, for: ["camera"])) == [.unknownRecipient])
                let alice = try connect("alice")
                alice.ask(.people(PeopleRequest(id: 4)))
                let people = try alice.persons()
                #expect(people.map(\.name) == ["alice", "bob", "carol", "dave"])
                #expect(people.filter(\.takesFromClient).map(\.name) == ["alice", "bob", "carol"])
                #expect(people.filter(\.isClient).map(\.name) == ["alice"])
                #expect(people.filter(\.isHere).map(\.name).contains("alice"))
            }
        }

        // MARK: News

        @Test(.oneServer) func whoWatchesIsToldAtOnce() async throws {
            try await serving { (_, connect) throws in
                let (alice, bob) = (try connect("alice"), try connect("bob"))
                #expect(try bob.deliveries(.inbox, watches: true) == [])
                guard case .arrived(0) = try bob.answer() else {
                    throw RawClient.Failure(description: "no first notice")
                }
                #expect(try alice.codes(to: Self.upload(for: ["bob"])) == [.committed])
                guard case .arrived(let number) = try bob.answer() else {
                    throw RawClient.Failure(description: "no notice")
                }
                let found = try bob.deliveries(.inbox)
                #expect(found.map(\.number) == [number])
                _ = try alice.deliveries(.sent, watches: true)
                guard case .arrived = try alice.answer() else { throw RawClient.Failure(description: "no notice") }
                bob.ask(.settle(SettleRequest(id: 1, .delivered, time: 0, found.map(\.id))))
                #expect(try bob.outcome().code == .completed)
                guard case .arrived = try alice.answer() else { throw RawClient.Failure(description: "no notice") }
                #expect(try alice.deliveries(.sent).map(\.state) == [.delivered])
            }
        }

        @Test func manyComePageByPage() async throws {
            try await serving { (_, connect) throws in
                let alice = try connect("alice")
                let uploads = (1...300).flatMap { number in
                    Self.upload(UInt64(number), for: ["bob"], path: String(repeating: "x", count: 200) + "\(number)")
                }
                #expect(try alice.codes(300, to: uploads).allSatisfy { $0 == .committed })
                let found = try connect("bob").deliveries(.inbox)
                #expect(found.count == 300 && Set(found.map(\.id)).count == 300)
                #expect(found.map(\.number) == found.map(\.number).sorted())
            }
        }
    }
}

extension RawClient {
    func deliveries(
        _ box: MailRequest.Box, withReceipts: Bool = false, watches: Bool = false
    ) throws -> [ListedDelivery] {
        ask(.mail(MailRequest(id: 9, box, watches: watches, wantsReceipts: withReceipts)))
        var found: [ListedDelivery] = []
        while true {
            switch try answer() {
            case .deliveries(let page): found += page.deliveries
            case .outcome(let outcome):
                #expect(outcome.code == .completed && outcome.count == UInt64(found.count))
                return found
            case let other: throw Failure(description: "no answer to mail: \(other)")
            }
        }
    }

    /// Certificates for which the uploads to a person can be sealed.
    fileprivate func sealers(_ name: String) throws -> [SealingCertificate] {
        ask(.people(PeopleRequest(id: 5)))
        let person = try persons().first { $0.name.hasSameBytes(as: name) }
        return SealingCertificate.list(person?.sealingKey ?? [])
    }

    fileprivate func persons() throws -> [ListedPerson] {
        var found: [ListedPerson] = []
        while case .persons(let page) = try answer() { found += page.persons }
        return found
    }

    fileprivate func settle(
        _ deliveries: [ListedDelivery], as name: String, by key: KeyPair?, server: ServerKey
    ) throws -> Outcome {
        let pair = try #require(key)
        let time: UInt64 = 1_767_225_600_500
        let receipts = try deliveries.map { delivery in
            try DeliveryReceipt(
                delivery: delivery.id, to: name, from: delivery.person, name: RelativePath(delivery.name),
                kind: delivery.kind, size: delivery.size, digest: delivery.digest,
                time: #require(ReceiptTime(milliseconds: time)), recipient: pair.key, server: server)
        }
        ask(
            .settle(
                SettleRequest(
                    id: 2, .delivered, time: Int64(time), deliveries.map(\.id),
                    signature: DeliveryBatch.sign(receipts, with: pair))))
        return try outcome()
    }
}
