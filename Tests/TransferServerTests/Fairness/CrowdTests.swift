import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferSystem

@testable import TransferIO

extension ServerTests {
    /// More connections than the server allows.
    @Suite(.oneServer) struct CrowdTests {
        /// Counts this machine's addresses separately, like those of other machines.
        private static func countEverybody(_ configuration: inout ServerConfiguration) {
            configuration.network = { $0.ipv4.map(PeerNetwork.init(ipv4:)) }
        }

        @Test func whoeverHasTooManyIsToldSo() async throws {
            try await serving({
                Self.countEverybody(&$0)
                $0.maximumPerNetwork = 3
            }) { server in
                var clients = try (0..<3).map { _ in try server.greetedClient() }
                let refused = try server.client()
                refused.send(Frames.hello)
                let result = try refused.result()
                #expect(result.code == .busy && result.id == .none)
                #expect(result.message == "There are too many connections from this address.")
                #expect(try refused.next() == .closed)
                let other = try RawClient(server.endpoint, from: "127.0.0.2")
                other.send(Frames.hello + Frames.upload("other", [1]))
                #expect(try other.result().code == .committed)
                clients.removeFirst()
                try server.waitUntil("the place is free") {
                    guard let next = try? server.client() else { return false }
                    next.send(Frames.hello + Frames.upload("next", [1]))
                    return (try? next.result().code.isSuccess) ?? false
                }
            }
        }

        @Test func theLongestSilentOneGivesWay() async throws {
            try await serving({ $0.maximumPending = 3 }) { server in
                let greeted = try server.greetedClient()
                let silent = try (0..<3).map { _ in try server.client() }
                try server.checkServes()
                let result = try silent[0].result()
                #expect(result.code == .busy && result.id == .none)
                #expect(try silent[0].next() == .closed)
                for client in silent.dropFirst() + [greeted] {
                    if client !== greeted { client.send(Frames.hello) }
                    client.send(Frames.upload("late", [1]))
                    #expect(try client.result().code.isSuccess)
                }
            }
        }

        /// The limit of all connections leaves places for new clients if silent connections fill it.
        @Test func aFullHouseOfSilentOnesLetsOthersIn() async throws {
            try await serving({ $0.maximumConnections = 4 }) { server in
                let silent = try (0..<50).map { _ in try server.client() }
                for _ in 0..<5 { try server.checkServes() }
                withExtendedLifetime(silent) {}
            }
        }

        /// A full server ends the oldest connection of the address that has most, in the middle of an upload, for an
        /// address without one. The client that lost its connection stores the upload when there is a place again,
        /// once.
        @Test func anAddressWithoutAConnectionGetsAPlace() async throws {
            try await serving({
                Self.countEverybody(&$0)
                $0.maximumConnections = 3
            }) { server in
                let crowd = try (0..<3).map { _ in try server.greetedClient() }
                let upload = Frames.upload("cut", [UInt8](repeating: 7, count: 1000))
                crowd[0].send(Array(upload.dropLast(600)))
                let other = try RawClient(server.endpoint, from: "127.0.0.2")
                other.send(Frames.hello + Frames.upload("other", [1]))
                #expect(try other.result().code == .committed)
                let told = try crowd[0].result()
                #expect(told.code == .busy && told.id == .none)
                #expect(try crowd[0].next() == .closed)
                #expect(server.content("cut") == nil)
                for client in crowd.dropFirst() {
                    client.send(Frames.upload("late", [2]))
                    #expect(try client.result().code.isSuccess)
                }
                let again = try server.client()
                again.send(Frames.hello)
                #expect(try again.result().code == .busy)
                other.endSending()
                try server.waitUntil("the place is free") {
                    guard let next = try? server.client() else { return false }
                    next.send(Frames.hello + upload)
                    return (try? next.result().code == .committed) ?? false
                }
                #expect(server.content("cut")?.count == 1000 && server.content("cut-1") == nil)
            }
        }

        @Test func aServerStopsThoughSomebodyWaitsOutside() async throws {
            try await serving({ $0.maximumConnections = 1 }) { server in
                let inside = try server.greetedClient()
                let outside = try server.client()
                outside.send(Frames.hello)
                server.beginShutDown()
                #expect(try inside.goodbye().code == .shuttingDown)
                try outside.waitForClose()
            }
        }
    }
}
