import Testing
import TransferIO
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// The server offers clients what its store can do.
    @Suite struct FewAbilitiesTests {
        private func serving(
            _ abilities: StoreAbilities, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            try await StoreKind.$current.withValue(.memory) {
                try await StoreKind.$abilities.withValue(abilities) {
                    try await TransferServerTests.serving({ $0.offersOwners = true }) { try body($0) }
                }
            }
        }

        private static func features(_ server: TestServer) throws -> Features {
            let client = try server.client()
            client.send(.hello(Hello(agent: "test")))
            guard case .welcome(let welcome) = try client.nextMessage() else {
                throw RawClient.Failure(description: "the server did not welcome")
            }
            return welcome.features
        }

        @Test func whatTheStoreCannotIsNotOffered() async throws {
            var abilities = StoreAbilities()
            (abilities.takesPieces, abilities.takesHoles, abilities.keepsOwners) = (false, false, false)
            let offered: Features = [.pieces, .holes, .owners]
            for (abilities, isOffered) in [(abilities, false), (StoreAbilities(), true)] {
                try await serving(abilities) { server in
                    let features = try Self.features(server)
                    #expect(features.intersection(offered) == (isOffered ? offered : []))
                }
            }
        }

        /// Uploads that wait for others are published when no other one has arrived.
        @Test(arguments: [1, 3, 400]) func gatheredUploadsAreAcknowledged(count: Int) async throws {
            var abilities = StoreAbilities()
            abilities.gathering = StoreAbilities.Gathering(uploads: 1000, bytes: 1 << 30, time: .seconds(3600))
            try await serving(abilities) { server in
                let client = try server.greetedClient()
                let uploads = (0..<count).flatMap { number in
                    Frames.encoded(.begin(Begin(id: .random(), path: "\(number)", size: 1))) + Frames.stored([7])
                        + Frames.end([7])
                }
                let codes = try client.codes(count, to: uploads)
                #expect(codes == Array(repeating: .committed, count: count))
            }
        }

        @Test(arguments: [false, true]) func aStoreOfObjectsAsksForLongParts(storesParts: Bool) async throws {
            var abilities = StoreAbilities()
            abilities.storesParts = storesParts
            try await serving(abilities) { server in
                let features = try Self.features(server)
                #expect(features.contains(.objects) == storesParts)
            }
        }

        @Test(arguments: [false, true]) func aFileHasASecondNameWhereTheStoreGivesOne(linksFiles: Bool) async throws {
            var abilities = StoreAbilities()
            abilities.linksFiles = linksFiles
            try await serving(abilities) { server in
                let client = try server.greetedClient()
                let upload = Begin(id: .random(), path: "a", size: 1)
                let stored = try client.codes(to: Frames.encoded(.begin(upload)) + Frames.stored([7]) + Frames.end([7]))
                #expect(stored == [.committed])
                client.send(.make(MakeRequest(.hardLink, path: "b", target: Array("a".utf8))))
                guard case .outcome(let outcome) = try client.answer() else {
                    throw RawClient.Failure(description: "no outcome")
                }
                #expect(outcome.code == (linksFiles ? .completed : .wrongForm))
                #expect(server.medium?.paths() == (linksFiles ? ["a", "b"] : ["a"]))
            }
        }

        /// A store that waits for a network gets as many threads as it asks for, and never fewer than a disk needs.
        @Test(arguments: [(nil, 2), (1, 2), (40, 40)] as [(Int?, Int)])
        func asManyThreadsWaitForTheStoreAsItSays(said: Int?, threads: Int) async throws {
            var abilities = StoreAbilities()
            abilities.waitingThreads = said
            try await serving(abilities) { server in
                #expect(server.server.core.transport.pool.limit == threads)
            }
        }
    }
}
