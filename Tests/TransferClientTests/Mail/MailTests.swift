import Testing
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct MailTests {
    private func client(_ server: FakeServer) throws -> TransferClient {
        try TransferClient(server: server.address, configuration: .plain())
    }

    @Test func peopleAreListed() async throws {
        let server = FakeMailbox().server
        defer { server.stop() }
        let client = try client(server)
        #expect(try await client.whoami().name == "bob")
        let people = try await client.people()
        #expect(people.map(\.name) == ["bob", "alice"])
        #expect(people[0].isClient && people[0].isConnected && people[0].acceptsFromClient && !people[0].isUnproven)
        #expect(!people[1].isClient && !people[1].isConnected && !people[1].acceptsFromClient && people[1].isUnproven)
    }

    /// An answer with several names, or with another person's, does not identify the client.
    @Test(arguments: [["bob", "mallory"], ["mallory"]]) func oneNameIsTheClients(_ names: [String]) async throws {
        let server = FakeServer { peer in
            peer.welcome(Welcome(features: [.files, .mail]))
            guard case .message(.people(let people))? = peer.next() else { return }
            let persons = names.map { ListedPerson($0, isHere: true, takesFromClient: true, isClient: $0 == "bob") }
            for person in persons { peer.send(.persons(Persons(id: people.id, [person]))) }
            peer.send(.outcome(Ending(id: people.id, code: .completed, count: UInt64(persons.count))))
            peer.drain()
        }
        defer { server.stop() }
        let client = try client(server)
        let failure = await #expect(throws: TransferFailure.self) { try await client.whoami() }
        #expect(failure?.reason == .protocolFault)
    }

    /// A server may list any number of people.
    @Test func peopleWithoutEnd() async throws {
        let server = FakeServer { peer in
            peer.welcome(Welcome(features: [.files, .mail]))
            guard case .message(.people(let people))? = peer.next() else { return }
            for start in stride(from: 0, to: 4000, by: 100) {
                let names = (start..<start + 100).map { "p\($0)" }
                let persons = names.map { ListedPerson($0, isHere: true, takesFromClient: true, isClient: false) }
                peer.send(.persons(Persons(id: people.id, persons)))
            }
            peer.send(.outcome(Ending(id: people.id, code: .completed, count: 4000)))
            peer.drain()
        }
        defer { server.stop() }
        let client = try TransferClient(server: server.address, configuration: .plain { $0.listMemory = 100_000 })
        let failure = await #expect(throws: TransferFailure.self) { try await client.people() }
        #expect(failure?.reason == .rejected(.incomplete))
    }

    @Test func theInboxIsListed() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("a", [1], from: "alice")
        mailbox.deliver("b", [1, 2], from: "carol")
        mailbox.change(0, to: .declined)
        mailbox.deliver("c", [1, 2, 3], from: "alice")
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        #expect(await all(client.inbox()).events.map(\.name) == ["b", "c"])
        let (found, failure) = await all(client.inbox(from: ["alice"]))
        #expect(found.map(\.size) == [3] && failure == nil)
    }

    @Test func whatBecameOfWhatWasSentIsListed() async throws {
        let mailbox = FakeMailbox()
        for name in ["a", "b", "c"] { mailbox.deliver(name, [1]) }
        mailbox.change(1, to: .delivered)
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        #expect(await all(client.sent()).events.map(\.state) == [.queued, .delivered, .queued])
        #expect(await all(client.sent(after: 1)).events.map(\.name) == ["b", "c"])
    }

    /// Changes of older deliveries are reported, too: the number of a delivery stays the same when its state changes.
    @Test func changesOfWhatWasSentAreTold() async throws {
        let mailbox = FakeMailbox()
        for name in ["a", "b"] { mailbox.deliver(name, [1]) }
        let server = mailbox.server
        defer { server.stop() }
        let sent = try client(server).sent(watches: true)
        var told: [String] = []
        do throws(TransferFailure) {
            for try await delivery in sent {
                told.append("\(delivery.name) \(delivery.state.name)")
                switch told.count {
                case 2: mailbox.change(0, to: .fetched)
                case 3: mailbox.change(1, to: .delivered)
                case 4: mailbox.deliver("c", [1])
                case 5: mailbox.change(0, to: .expired)
                case 6: sent.cancel()
                default: break
                }
            }
        } catch {
            #expect(error.reason == .cancelled)
        }
        #expect(told == ["a queued", "b queued", "a fetched", "b delivered", "c queued", "a expired"])
    }

    /// If the client did not list all deliveries again, new deliveries with numbers that it has already seen would
    /// never be reported.
    @Test func aServerThatWentBackIsAskedAnew() async throws {
        let mailbox = FakeMailbox()
        for name in ["a", "b", "c"] { mailbox.deliver(name, [1]) }
        let server = mailbox.server
        defer { server.stop() }
        let inbox = try client(server).inbox(watches: true)
        var told: [String] = []
        do throws(TransferFailure) {
            for try await delivery in inbox {
                told.append(delivery.name)
                switch told.count {
                case 3: mailbox.goBack(to: 1)
                case 4: mailbox.deliver("d", [1])
                case 5: inbox.cancel()
                default: break
                }
            }
        } catch {}
        #expect(told == ["a", "b", "c", "a", "d"])
    }

    /// The client remembers deliveries that can still change, and a server may list any number of them.
    @Test func deliveriesWithoutEnd() async throws {
        let mailbox = FakeMailbox()
        for number in 0..<400 { mailbox.deliver("f\(number)", [1]) }
        let server = mailbox.server
        defer { server.stop() }
        let client = try TransferClient(server: server.address, configuration: .plain { $0.listMemory = 50_000 })
        let (events, failure) = await all(client.inbox())
        #expect(failure?.reason == .rejected(.incomplete) && (1..<400).contains(events.count))
    }

    @Test func aDeliveryIsRead() async throws {
        let content = (0..<5 << 20).map { UInt8(truncatingIfNeeded: $0 >> 8) }
        let mailbox = FakeMailbox(cuts: [0: 4 << 20])
        mailbox.deliver("a", content)
        mailbox.deliver("b", [1, 2, 3], listed: [1, 2, 4])
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        let inbox = await all(client.inbox()).events
        try #require(inbox.count == 2)
        let (parts, failure) = await all(client.read(inbox[0]))
        let pieces = parts.compactMap { if case .content(let piece) = $0 { piece } else { nil } }
        #expect(pieces.joined().elementsEqual(content) && failure == nil)
        guard case .end(let verified)? = parts.last else { return #expect(Bool(false), "It has no end.") }
        #expect(verified.delivery == inbox[0] && verified.seal == nil)
        let other = await all(client.read(inbox[1]))
        #expect(other.events.isEmpty && other.failure?.reason == .rejected(.contentLost))
        #expect(mailbox.settles.isEmpty)
    }

    @Test(arguments: [DeliveryState.delivered, .declined])
    func deliveriesAreSettled(_ state: DeliveryState) async throws {
        let mailbox = FakeMailbox { number, _ in number == 0 ? .lost : .usual }
        for number in 0..<300 { mailbox.deliver("f\(number)", [1]) }
        let server = mailbox.server
        defer { server.stop() }
        let key = try KeyPair(secret: #require(Bytes32([UInt8](repeating: 3, count: 32))))
        let client = try TransferClient(server: server.address, configuration: .plain { $0.key = key })
        let inbox = await all(client.inbox()).events
        if state == .declined { try await client.decline(inbox) } else { try await client.settle(inbox.verified) }
        #expect(Set(mailbox.states) == [state])
        #expect(mailbox.settles.allSatisfy { ($0.signature == nil) == (state == .declined) })
        #expect(mailbox.settles.map(\.deliveries.count).max() == 256)
    }

    @Test func whatWasNeverForThisClientIsNotSettled() async throws {
        let mailbox = FakeMailbox { _, _ in .answer(.notFound) }
        mailbox.deliver("a", [1])
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        let inbox = await all(client.inbox()).events
        let failure = await #expect(throws: TransferFailure.self) { try await client.settle(inbox.verified) }
        #expect(failure?.reason == .rejected(.notFound))
    }

    /// The client sends no request to a server without the feature.
    @Test(arguments: [Features.files, []]) func aServerWithoutMailboxesIsSaidToBeOne(_ features: Features) async throws
    {
        let asked = Locked(0)
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: features))
            while let arrival = peer.next() {
                if case .message(.goodbye) = arrival { continue }
                asked.withLock { $0 += 1 }
            }
        }
        let server = FakeServer(serve, serve, serve, serve, serve)
        defer { server.stop() }
        let client = try client(server)
        let here = try TemporaryDirectory()
        let failures = [
            await #expect(throws: TransferFailure.self) { try await client.whoami() },
            await #expect(throws: TransferFailure.self) { try await client.people() },
            await all(client.inbox()).failure, await all(client.sent()).failure,
            await all(client.receive(to: here.path("out"))).failure,
        ]
        for failure in failures {
            #expect(failure?.reason == .unsupported && failure?.message.contains("access add") ?? false)
        }
        #expect(asked.withLock { $0 } == 0)
    }
}
