import Glibc
import Testing
import TransferAccess
import TransferKeys
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Files that a client may list, fetch and remove.
    @Suite(.overEachStoreIfAsked) struct RequestAccessTests {
        private let directory: TemporaryDirectory
        private let lists: any AccessLists
        private let pair = KeyPair()
        private let other = KeyPair()

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
            try lists.admit(AuthorizedKey(other.key, name: "other"))
        }

        /// Serves a directory with two files of `other`, one of them in the folder `mine`.
        private func admitted(
            _ change: (inout AccessOptions) -> Void, _ body: @escaping @Sendable (TestServer, RawClient) throws -> Void
        ) async throws {
            var options = AccessOptions()
            change(&options)
            try lists.admit(AuthorizedKey(pair.key, name: "laptop", options: options))
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await serving(configure, in: directory) { [pair, other] server in
                let owner = try server.securedClient(other)
                let uploads = Frames.upload("a", [1]) + Frames.upload("mine/b", [2])
                #expect(try owner.codes(2, to: Frames.hello + uploads) == [.committed, .committed])
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                try body(server, client)
            }
        }

        @Test func whoeverMayOnlySendSeesNothing() async throws {
            try await admitted({ $0.rights = .writeOnly }) { (server, client) throws in
                #expect(try client.list().outcome.code == .forbidden)
                #expect(try client.list("a", itself: true).outcome.code == .forbidden)
                // A missing file gets the same answer. Another answer would tell the client which files exist.
                #expect(try client.list("x", itself: true).outcome.code == .forbidden)
                #expect(try client.fetch(FetchRequest(id: 1, path: "a")).outcome?.code == .forbidden)
                #expect(try client.remove("a").code == .forbidden)
                #expect(try client.codes(to: Frames.upload("c", [3])) == [.committed])
                #expect(server.tree == ["a", "c", "mine", "mine/b"])
            }
        }

        @Test func whoeverMayOnlyReadRemovesNothing() async throws {
            try await admitted({ $0.rights = .readOnly }) { (server, client) throws in
                #expect(try client.list().outcome.count == 2)
                #expect(try client.fetch(FetchRequest(id: 1, path: "a")).content == [1])
                #expect(try client.remove("a").code == .forbidden)
                #expect(try client.codes(to: Frames.upload("c", [3])) == [.forbidden])
                #expect(server.tree == ["a", "mine", "mine/b"])
            }
        }

        @Test func whoeverMayNotRemoveTakesNothingAway() async throws {
            try await admitted({ $0.rights = .noRemove }) { (server, client) throws in
                #expect(try client.list().outcome.count == 2)
                #expect(try client.fetch(FetchRequest(id: 1, path: "a")).content == [1])
                #expect(try client.remove("a").code == .forbidden)
                #expect(try client.remove("mine", recursive: true).code == .forbidden)
                #expect(try client.codes(to: Frames.upload("a", [3])) == [.committed])
                #expect(server.tree == ["a", "a-1", "mine", "mine/b"])
            }
        }

        /// Replacing a file requires the right to remove it. A client may replace the files that it has sent itself.
        @Test(arguments: [AccessRights.noRemove, .writeOnly])
        func whoeverMayNotRemoveReplacesOnlyItsOwn(_ rights: AccessRights) async throws {
            try await admitted({ $0.rights = rights }) { [other] (server, client) throws in
                func replace(_ path: String, _ content: [UInt8]) -> [UInt8] {
                    Frames.upload(path, content, conflict: .overwrite)
                }
                #expect(try client.codes(to: replace("a", [3])) == [.forbidden])
                #expect(try client.codes(to: replace("a", [3, 4])) == [.forbidden])
                let upload = PartedUpload("a", SplitMix64.bytes(seed: 3, Limits.blockSize + 1), conflict: .overwrite)
                let codes = try client.codes(2, to: upload.inOnePart + upload.multipart)
                #expect(codes.last?.isSuccess == false && server.content("a") == [1])
                // Sending the same content makes no client the owner, and a client that may not read does not learn
                // that the content is the same.
                #expect(try client.codes(to: replace("a", [1])) == [rights.mayRead ? .alreadyStored : .forbidden])
                #expect(try client.codes(to: replace("a", [3])) == [.forbidden])

                #expect(try client.codes(to: replace("c", [5])) == [.committed])
                #expect(try client.codes(to: replace("c", [6])) == [.committed])
                #expect(server.content("c") == [6])
                // Another client has replaced the file since.
                let owner = try server.securedClient(other)
                #expect(try owner.codes(to: Frames.hello + replace("c", [7])) == [.committed])
                #expect(try client.codes(to: replace("c", [8])) == [.forbidden])
                // A file that no upload has stored has no owner.
                #expect(server.put([9], "d"))
                #expect(try client.codes(to: replace("d", [8])) == [.forbidden])
                #expect(server.content("c") == [7] && server.content("d") == [9])
            }
        }

        @Test func aClientSeesItsFolderOnly() async throws {
            let mine = try RelativePath("mine")
            try await admitted({ $0.folder = mine }) { (server, client) throws in
                #expect(try client.list().entries.map(\.name) == ["b"])
                #expect(try client.list("", itself: true).entries.map(\.name) == [""])
                #expect(try client.fetch(FetchRequest(id: 1, path: "b")).content == [2])
                for path in ["a", "mine", "mine/b"] {
                    let outcome = try client.list(path, itself: true).outcome
                    #expect(outcome.code == .notFound && !outcome.message.contains("mine/"), "\(outcome.message)")
                }
                for path in ["../a", "..", "../mine/b"] {
                    #expect(try client.fetch(FetchRequest(id: 1, path: path)).outcome?.code == .invalidPath)
                    #expect(try client.remove(path, recursive: true).code == .invalidPath)
                }
                #expect(try client.remove("", recursive: true).code == .invalidPath)
                #expect(try client.remove("b").code == .completed)
                #expect(server.tree == ["a", "mine"])
            }
        }

        /// The folder of a client that has not sent anything yet is listed as empty.
        @Test func aFolderThatIsNotThereYetIsEmpty() async throws {
            let new = try RelativePath("new")
            try await admitted({ $0.folder = new }) { (_, client) throws in
                let (entries, outcome) = try client.list()
                #expect(entries.isEmpty && outcome.code == .completed)
            }
        }

        @Test func anAccessThatIsTakenBackEndsWithTheNextRequest() async throws {
            try await admitted({ _ in }) { [lists, pair] (server, client) throws in
                #expect(try client.list().outcome.code == .completed)
                _ = try lists.expel { $0.key == pair.key }
                #expect(try client.list().outcome.code == .authenticationFailed)
                client.endSending()
                try client.waitForClose()
                #expect(server.tree.contains("a"))
            }
        }

        /// The server stops sending a file when the client loses its access.
        @Test(.directoryOnly) func whatIsUnderWayEnds() async throws {
            try await admitted({ _ in }) { [lists, pair] (server, client) throws in
                // The file is so long that the server asks for the access again before its end, however fast it sends.
                let path = server.directory.path("store/big")
                #expect(TestServer.write([1], path) && truncate(path, 1 << 40) == 0)
                client.ask(.fetch(FetchRequest(id: 1, path: "big")))
                while true { if case .file = try client.nextMessage() { break } }
                _ = try lists.expel { $0.key == pair.key }
                while true {
                    guard case .outcome(let outcome)? = try client.nextData().message else { continue }
                    return #expect(outcome.code == .authenticationFailed)
                }
            }
        }

        /// A client's quota is given back also if another client removes its file; by a cluster at its next count.
        @Test(.directoryOnly) func aQuotaIsGivenBackToWhoHadSentIt() async throws {
            try await admitted({ $0.quota = 10 + QuotaPrice.file("c") }) { [other] (server, client) throws in
                let eight = [UInt8](repeating: 1, count: 8)
                #expect(try client.codes(to: Frames.upload("c", eight)) == [.committed])
                #expect(try client.codes(to: Frames.upload("d", eight)) == [.quotaExceeded])
                let owner = try server.securedClient(other)
                owner.send(Frames.hello)
                #expect(try owner.remove("c").code == .completed)
                #expect(try client.codes(to: Frames.upload("d", eight)) == [.committed])
            }
        }

        /// A key and a token of one name are two clients, and a key is one client whatever its name is.
        @Test(.directoryOnly) func aQuotaIsTheClientsAndNotTheNames() async throws {
            let options = AccessOptions.withQuota(10 + QuotaPrice.file("c"))
            let token = try lists.issue(.token, name: "laptop", options: options, at: .now)
            let eight = [UInt8](repeating: 1, count: 8)
            let bounds = { @Sendable (options: inout AccessOptions) in options.quota = 10 + QuotaPrice.file("c") }
            try await admitted(bounds) { [pair, other, lists] (server, client) throws in
                #expect(try client.codes(to: Frames.upload("c", eight)) == [.committed])
                let second = try server.securedClient()
                let hello = Frames.encoded(.hello(Hello(agent: "test", token: token.text)))
                #expect(try second.codes(to: hello + Frames.upload("d", eight)) == [.committed])
                #expect(try second.codes(to: Frames.upload("e", eight)) == [.quotaExceeded])
                // The bytes of one client are given back only to that client.
                let owner = try server.securedClient(other)
                owner.send(Frames.hello)
                #expect(try owner.remove("c").code == .completed)
                #expect(try second.codes(to: Frames.upload("e", eight)) == [.quotaExceeded])
                #expect(try client.codes(to: Frames.upload("f", eight)) == [.committed])
                _ = try lists.expel { $0.key == pair.key }
                try lists.admit(AuthorizedKey(pair.key, name: "renamed", options: options))
            }
            // The restarted server counts again, from the catalog.
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await serving(configure, in: directory) { [pair] server in
                let client = try server.securedClient(pair)
                #expect(try client.codes(to: Frames.hello + Frames.upload("g", eight)) == [.quotaExceeded])
            }
        }
    }
}

extension AccessOptions {
    fileprivate static func withQuota(_ quota: UInt64) -> AccessOptions {
        var options = AccessOptions()
        options.quota = quota
        return options
    }
}
