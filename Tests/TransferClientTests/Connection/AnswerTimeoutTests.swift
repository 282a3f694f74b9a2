import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

/// A client gives up a server that shows signs of life but owes an answer, for every kind of request.
@Suite struct AnswerTimeoutTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
        try Files.write(here.path("long"), [UInt8](repeating: 1, count: 9 << 20))
    }

    /// A request that returns the reason why it has no answer.
    struct Command: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let run: @Sendable (TransferClient, TemporaryDirectory) async throws(TransferFailure) -> String

        /// - Parameter ask: makes the request, whose events must end.
        init<Event: Sendable>(
            _ name: String, _ ask: @escaping @Sendable (TransferClient, TemporaryDirectory) -> RequestEvents<Event>
        ) {
            testDescription = name
            run = { (client, here) throws(TransferFailure) in
                let events = ask(client, here)
                for try await _ in events {}
                return "done"
            }
        }

        /// - Parameter upload: makes the upload to push.
        init(pushing name: String, _ upload: @escaping @Sendable (TemporaryDirectory) -> Upload) {
            testDescription = name
            run = { (client, here) throws(TransferFailure) in try await client.push(upload(here)).first?.message ?? "" }
        }
    }

    static let commands = [
        Command("list") { client, _ in client.list("") },
        Command("stat") { client, _ in client.stat(["a"]) },
        Command("read") { client, _ in client.read("a") },
        Command("pull") { client, here in client.pull(["a"], to: here.path("in")) },
        Command("make") { client, _ in client.makeFolders(["a"]) },
        Command("move") { client, _ in client.move([("a", "b")]) },
        Command("copy") { client, _ in client.copy([("a", "b")]) },
        Command("remove") { client, _ in client.remove(["a"]) },
        Command("inbox") { client, _ in client.inbox() },
        Command("receive") { client, here in client.receive(to: here.path("in")) },
        Command(pushing: "a text") { _ in .text("x", name: "a") },
        Command(pushing: "a long file") { here in .path(here.path("long")) },
    ]

    @Test(arguments: commands) func signsOfLifeAreNoAnswer(_ command: Command) async throws {
        let serve = { @Sendable (peer: FakeServer.Peer) in
            // The server also sends a ping for each ping of the client, and never an answer.
            peer.welcome(Welcome(heartbeat: 1_000, features: [.files, .folders, .trees, .mail, .versions, .trashes]))
            while let arrival = peer.next() {
                if case .message(.ping(let token)) = arrival { peer.send(.pong(token), .ping(7)) }
            }
        }
        let server = FakeServer(serve, serve, serve)
        defer { server.stop() }
        var configuration = ClientConfiguration.plaintext
        (configuration.answerTimeout, configuration.retryFor) = (1, 0)
        let client = try TransferClient(server: server.address, configuration: configuration)
        let said: String
        do throws(TransferFailure) {
            said = try await command.run(client, here)
        } catch {
            said = error.message
        }
        #expect(said.contains("was reachable but sent no answer within 1.0 seconds"), "\(said)")
    }
}
