import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct ManyConnectionsTests {
    @Test func aSilentCrowdDoesNotTakeTheDescriptors() throws {
        let server = try RunningServer([], Surroundings(descriptorLimit: 64))
        let crowd = try (0..<100).map { _ in try PeerConnection(to: server.address) }
        let push = try server.push([photo])
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.visibleFiles == ["demo.png"])
        #expect(!server.program.errorText.contains("Too many open files"))
        for connection in crowd { connection.close() }
    }

    @Test func idleOnesHinderNobody() throws {
        let server = try RunningServer()
        let idle = try (0..<300).map { _ in try PeerConnection(to: server.address) }
        for connection in idle {
            try connection.send(.hello(Hello(agent: "idle")))
            _ = try connection.next { if case .welcome(let welcome) = $0 { welcome } else { nil } }
        }
        let sources = try TemporaryDirectory()
        let content = randomBytes(20 << 20, seed: 6)
        try writeFile(sources.path("big"), content)
        #expect(try server.push([sources.path("big"), photo]).end == .exited(0))
        #expect(try server.stored("big") == content)
        for connection in idle { connection.close() }
    }

    @Test func aFullHouseLetsInTheNextOneWhenSomebodyLeaves() throws {
        let server = try RunningServer(["--max-connections", "2"])
        let guests = try (0..<2).map { _ in try PeerConnection(to: server.address) }
        for guest in guests {
            try guest.send(.hello(Hello(agent: "guest")))
            _ = try guest.next { if case .welcome(let welcome) = $0 { welcome } else { nil } }
        }
        let push = try server.startPush([photo])
        guests[0].close()
        #expect(try push.wait() == .exited(0))
    }
}
