import CLinux
import Glibc
import Testing
import TransferAccess
import TransferCluster
import TransferClusterModel
import TransferHTTP
import TransferKeys
import TransferModel
import TransferPorts
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Clients at one server of a cluster learn what happens at another one.
    @Suite struct SharedNewsTests {
        /// One server of the cluster, with a folder on this machine.
        private final class Node: Sendable {
            let directory: TemporaryDirectory
            let news: ModelNews
            private let top: Descriptor
            private let own: Descriptor
            private let cluster: ClusterMedium

            init(_ cluster: ClusterMedium, _ wire: ModelNewsWire) throws {
                (directory, self.cluster, news) = (try TemporaryDirectory(), cluster, ModelNews(wire))
                let path = directory.path("store")
                let folder = "\(path)/\(RelativePath.reservedName)"
                for path in [path, folder] { try system("mkdir") { mkdir(path, 0o700) } }
                top = try Self.open(path)
                own = try Self.open(folder)
            }

            private static func open(_ path: String) throws(SystemError) -> Descriptor {
                Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) })
            }

            var foundations: ServerFoundations {
                let (cluster, news) = (cluster, news)
                let folders = OpenedStore.Folders(directory: top.number, own: own.number)
                var foundations = ServerFoundations()
                foundations.openStore = { _ throws(Failure) in
                    guard let store = try? cluster.store() else { throw Failure(.storageFailed, "no store") }
                    var opened = OpenedStore(store, folders)
                    opened.news = news
                    return opened
                }
                foundations.openAccess = { _ in ClusterAccess(cluster.ledger(), interval: .max, news: news) }
                foundations.openCatalog = { path, _, _ in
                    close(Glibc.open(path, O_WRONLY | O_CREAT, 0o600))
                    return ClusterRecords(cluster.ledger())
                }
                foundations.openMail = { _, _, _ in ClusterMail(cluster.ledger()) }
                return foundations
            }
        }

        private let cluster = ClusterMedium()
        private let keys = ["alice": KeyPair(), "bob": KeyPair()]
        private let lists: ClusterAccess
        private let nodes: [Node]
        private let token: String

        init() throws {
            let wire = ModelNewsWire()
            nodes = [try Node(cluster, wire), try Node(cluster, wire)]
            lists = ClusterAccess(cluster.ledger(), interval: 0, news: ModelNews(wire))
            for (name, pair) in keys { try lists.admit(AuthorizedKey(pair.key, name: name)) }
            token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now).text
        }

        private func serving(_ body: @escaping @Sendable (TestServer, TestServer) throws -> Void) async throws {
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                (configuration.security, configuration.access) = (.identity, .listed(owner: nil))
                configuration.http = .on
            }
            let other = try await TestServer(
                change, listen: [TestServer.anyPort], log: TestServer.noLog, in: nodes[1].directory,
                on: nodes[1].foundations)
            let result = await Task { [nodes] in
                try await TransferServerTests.serving(
                    change, in: nodes[0].directory, on: nodes[0].foundations
                ) { try body($0, other) }
            }.result
            await other.end()
            try result.get()
        }

        private func bearer() -> (String, String) { ("Authorization", "Bearer \(token)") }

        @Test func mailThatAnotherServerTakesIsAnnounced() async throws {
            try await serving { [keys] one, two in
                let (alice, bob) = (try one.securedClient(keys["alice"]), try two.securedClient(keys["bob"]))
                for client in [alice, bob] { client.send(Frames.hello) }
                #expect(try bob.deliveries(.inbox, watches: true) == [])
                guard case .arrived(0) = try bob.answer() else {
                    throw RawClient.Failure(description: "no first notice")
                }
                let content: [UInt8] = [1, 2, 3]
                let begin = Begin(
                    id: .random(), path: "photo.png", size: 3, kind: .picture, recipients: Recipients(["bob"]))
                let mail = Frames.encoded(.begin(begin)) + Frames.data(content) + Frames.end(content)
                #expect(try alice.codes(to: mail) == [.committed])
                guard case .arrived(let number) = try bob.answer() else {
                    throw RawClient.Failure(description: "no notice")
                }
                let found = try bob.deliveries(.inbox)
                #expect(found.map(\.number) == [number])
                // The sender learns at the first server what the recipient does at the second one.
                #expect(try alice.deliveries(.sent, watches: true).count == 1)
                guard case .arrived = try alice.answer() else { throw RawClient.Failure(description: "no notice") }
                bob.ask(.settle(SettleRequest(id: 1, .delivered, time: 0, found.map(\.id))))
                #expect(try bob.outcome().code == .completed)
                guard case .arrived = try alice.answer() else { throw RawClient.Failure(description: "no notice") }
                #expect(try alice.deliveries(.sent).map(\.state) == [.delivered])
            }
        }

        @Test func storedFilesAreEventsAtEachServer() async throws {
            let bearer = bearer()
            try await serving { [nodes] one, two in
                let listener = try EventListener(two, [bearer], isSecured: true)
                let client = try HTTPClient(one, isSecured: true)
                for number in 0..<3 { #expect(try client.ask(.put, "/\(number)", [bearer], [1]).status == 201) }
                for number in 0..<3 {
                    let event = try #require(try listener.next())
                    #expect(
                        event["event"] == "committed" && event["data"]?.contains("\"\(number)\"") ?? false, "\(event)")
                }
                // A server that may have missed news lets its listeners look at everything.
                nodes[1].news.cut()
                #expect(try client.ask(.put, "/missed", [bearer], [1]).status == 201)
                nodes[1].news.connect()
                #expect(try listener.next()?["event"] == "reset")
                #expect(try client.ask(.put, "/after", [bearer], [1]).status == 201)
                let after = try #require(try listener.next())
                #expect(after["event"] == "committed" && after["data"]?.contains("\"after\"") ?? false)
            }
        }

        /// Without a listener nothing is looked up, and a client that comes back learns that it may have missed something.
        @Test func aClientThatComesBackIsReset() async throws {
            let bearer = bearer()
            try await serving { one, two in
                let client = try HTTPClient(two, isSecured: true)
                let id: String
                do {
                    let listener = try EventListener(two, [bearer], isSecured: true)
                    #expect(try client.ask(.put, "/own", [bearer], [1]).status == 201)
                    id = try #require(try listener.next()?["id"])
                }
                let news = two.server.core.http.news
                try two.waitUntil("the listener has gone") { news.watchers == 0 }
                #expect(try HTTPClient(one, isSecured: true).ask(.put, "/other", [bearer], [1]).status == 201)
                let back = try EventListener(two, [bearer, ("Last-Event-ID", id)], isSecured: true)
                #expect(try back.next()?["event"] == "reset")
            }
        }

        @Test func aRevokedTokenIsRefusedAtOnce() async throws {
            let bearer = bearer()
            try await serving { [lists] one, two in
                for server in [one, two] {
                    #expect(try HTTPClient(server, isSecured: true).ask(.get, "/", [bearer]).status == 200)
                }
                try lists.edit { (editing) throws(AccessFault) in
                    try editing.change { (tokens: inout AccessTokens) in _ = tokens.remove { _ in true } }
                }
                for server in [one, two] {
                    #expect(try HTTPClient(server, isSecured: true).ask(.get, "/", [bearer]).status == 401)
                }
            }
        }
    }
}
