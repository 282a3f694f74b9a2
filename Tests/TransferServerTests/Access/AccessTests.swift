import Glibc
import Testing
import TransferAccess
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Authentication of clients, and what an admitted client may do.
    @Suite(.overEachStoreIfAsked) struct AccessTests {
        private let directory: TemporaryDirectory
        private let lists: any AccessLists
        private let pair = KeyPair()
        private let upload = Frames.upload("a", [1, 2, 3])

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
        }

        private func secured(
            owner: PublicKey? = nil, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: owner)
            }
            try await serving(change, in: directory, body)
        }

        private func admit(_ key: PublicKey, _ change: (inout AccessOptions) -> Void = { _ in }) throws {
            var options = AccessOptions()
            change(&options)
            try lists.admit(AuthorizedKey(key, name: "laptop", options: options))
        }

        private func expect(
            _ codes: [ResultCode], from client: RawClient, to frames: [UInt8],
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let answers = try client.codes(codes.count, to: frames)
            #expect(answers == codes, sourceLocation: sourceLocation)
        }

        // MARK: Admission

        /// The server looks at nothing after `hello` and stores nothing, whether an upload, a compressed frame or
        /// garbage follows.
        @Test func whoeverShowsNothingIsRefused() async throws {
            try await secured { server in
                for frames in [upload, Frames.data([1, 2], .zlib), [0, 9, 9]] {
                    let client = try server.securedClient()
                    client.send(Frames.hello + frames)
                    let result = try client.result()
                    #expect(result.id == .none && result.code == .authenticationRequired)
                    client.endSending()
                    try client.waitForClose()
                }
                #expect(server.tree == [] && server.parts == [])
            }
        }

        @Test func whoeverIsNotKnownIsRefused() async throws {
            try admit(KeyPair().key)
            try await secured { [pair, upload] server in
                try expect([.authenticationRequired], from: server.securedClient(pair), to: Frames.hello + upload)
                #expect(server.tree == [])
            }
        }

        @Test func whoeverIsInTheListComesIn() async throws {
            try admit(pair.key)
            try await secured { [pair, upload] server in
                try expect([.committed], from: server.securedClient(pair), to: Frames.hello + upload)
            }
        }

        @Test func theServersUserComesInOnThisMachine() async throws {
            try await secured(owner: pair.key) { [pair, upload] server in
                try expect([.committed], from: server.securedClient(pair), to: Frames.hello + upload)
            }
        }

        @Test func aTokenLetsIn() async throws {
            let token = try lists.issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await secured { [upload] server in
                let hello = Frames.encoded(.hello(Hello(agent: "test", token: token.text)))
                try expect([.committed], from: server.securedClient(), to: hello + upload)
                let wrong = Frames.encoded(.hello(Hello(agent: "test", token: AccessSecret.random(.token).text)))
                try expect([.authenticationFailed], from: server.securedClient(), to: wrong + upload)
            }
        }

        /// A pairing code enrols one key, which the server accepts from then on.
        @Test func aCodeEnrolsOneClient() async throws {
            let code = try lists.issue(.pairing, name: "pairing", options: AccessOptions(), at: .now)
            try await secured { [pair, upload] server in
                let hello = Frames.encoded(.hello(Hello(agent: "test", token: code.text, clientName: "den")))
                try expect([.committed], from: server.securedClient(pair), to: hello + upload)
                try expect([.authenticationFailed], from: server.securedClient(KeyPair()), to: hello + upload)
                try expect([.committed], from: server.securedClient(pair), to: Frames.hello + upload)
            }
            let list = try lists.keys.get()
            #expect(list.entries.map(\.name) == ["den"] && list.entries.map(\.key) == [pair.key])
        }

        /// If several clients use one code at the same time, the server admits one of them.
        @Test func aCodeIsUsedOnce() async throws {
            let code = try lists.issue(.pairing, name: "pairing", options: AccessOptions(), at: .now)
            try await secured { server in
                let clients = try (0..<4).map { _ in try server.securedClient(KeyPair()) }
                let hello = Frames.encoded(.hello(Hello(agent: "test", token: code.text)))
                for (number, client) in clients.enumerated() {
                    client.send(hello + Frames.upload("\(number)", [1]))
                }
                let codes = try clients.map { try $0.result().code }
                #expect(codes.filter { $0 == .committed }.count == 1, "\(codes)")
                #expect(server.tree.count == 1)
            }
            #expect(try lists.keys.get().entries.count == 1)
        }

        // MARK: Changes of access

        @Test func aKeyThatIsRemovedEndsWithTheNextUpload() async throws {
            try admit(pair.key)
            try await secured { [pair, upload, lists] server in
                let client = try server.securedClient(pair)
                #expect(try client.codes(to: Frames.hello + upload) == [.committed])
                _ = try lists.expel { _ in true }
                #expect(
                    try client.codes(2, to: Frames.upload("b", [1])) == [.authenticationFailed, .authenticationFailed])
                client.endSending()
                try client.waitForClose()
                #expect(server.tree == ["a"])
            }
        }

        /// A complete upload is stored only if its client may still store it, and only where the client may store it
        /// now.
        @Test(arguments: AccessChange.allCases) func whatHasBegunIsNotFinishedWithoutAccess(_ change: AccessChange)
            async throws
        {
            try admit(pair.key)
            try await secured { [self] server in
                let client = try server.securedClient(pair)
                let begin = Begin(id: .random(), path: "a", size: 3, expectsAccept: true)
                client.send(Frames.hello + Frames.encoded(.begin(begin)))
                try client.expectAccept()
                _ = try lists.expel { _ in true }
                try admit(pair.key, change)
                #expect(try client.codes(to: Frames.data([1, 2, 3]) + Frames.end([1, 2, 3])) == [change.code])
                #expect(server.tree == [] && server.parts == [])
            }
        }

        /// Changes of a client's access while its upload is in progress.
        enum AccessChange: CaseIterable {
            case revoked
            case expired
            case readOnly
            case otherFolder
            case smaller

            var code: ResultCode {
                switch self {
                case .revoked, .expired: .authenticationFailed
                case .readOnly, .otherFolder: .forbidden
                case .smaller: .uploadTooLarge
                }
            }

            func restrict(_ options: inout AccessOptions) throws {
                switch self {
                case .revoked: break
                case .expired: options.expires = UTCTime(clamping: 1)
                case .readOnly: options.rights = .readOnly
                case .otherFolder: options.folder = try RelativePath("other")
                case .smaller: options.maximumUpload = 2
                }
            }
        }

        private func admit(_ key: PublicKey, _ change: AccessChange) throws {
            guard change != .revoked else { return }
            var options = AccessOptions()
            try change.restrict(&options)
            try lists.admit(AuthorizedKey(key, name: "client", options: options))
        }

        /// An upload whose client loses its access while it sends content is given up within a tenth of a second.
        @Test func aStreamEndsWithItsAccess() async throws {
            try admit(pair.key)
            try await secured { [pair, lists] server in
                let client = try server.securedClient(pair)
                let begin = Begin(id: .random(), path: "a", size: nil, expectsAccept: true)
                client.send(Frames.hello + Frames.encoded(.begin(begin)))
                try client.expectAccept()
                _ = try lists.expel { _ in true }
                // The server must ask for the access again before the client has sent all of this content.
                var code: ResultCode?
                for _ in 0..<10_000 where code == nil {
                    client.send(Frames.data([1]))
                    while code == nil, client.hasAnswer(within: 2) {
                        if case .message(.result(let result)) = try client.next() { code = result.code }
                    }
                }
                #expect(code == .authenticationFailed)
                #expect(server.tree == [] && server.parts == [])
            }
        }

        @Test func whoeverMayOnlyReadSendsNothing() async throws {
            try admit(pair.key) { $0.rights = .readOnly }
            try await secured { [pair, upload] server in
                try expect([.forbidden], from: server.securedClient(pair), to: Frames.hello + upload)
                #expect(server.tree == [])
            }
        }

        @Test func theLargestUploadIsTheClientsOwn() async throws {
            try admit(pair.key) { $0.maximumUpload = 2 }
            try await secured { [pair, upload] server in
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                guard case .welcome(let welcome) = try client.nextMessage() else {
                    throw RawClient.Failure(description: "?")
                }
                #expect(welcome.uploadSize == 2)
                #expect(try client.codes(to: upload) == [.uploadTooLarge])
                #expect(try client.codes(to: Frames.upload("b", [1, 2])) == [.committed])
            }
        }

        // MARK: Quotas

        /// A client's stored files count for its quota, also after a restart, and so do its uploads in progress. Other
        /// clients' files do not count.
        @Test(.directoryOnly) func aClientStoresNoMoreThanItsQuota() async throws {
            let other = KeyPair()
            let quota = 10 + 2 * QuotaPrice.file("a")
            try admit(pair.key) { $0.quota = quota }
            try lists.admit(AuthorizedKey(other.key, name: "other"))
            try await secured { [pair] server in
                try expect(
                    [.committed], from: server.securedClient(other), to: Frames.hello + Frames.upload("o", [1, 2]))
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                try expect([.committed], from: client, to: Frames.upload("a", [UInt8](repeating: 1, count: 6)))
                let refused = Frames.upload("b", [UInt8](repeating: 2, count: 5 + Int(QuotaPrice.file("b"))))
                client.send(refused)
                let result = try client.result()
                #expect(result.code == .quotaExceeded && result.message.contains("\(quota) bytes"), "\(result.message)")
                #expect(server.tree == ["a", "o"])
            }
            try await secured { [pair] server in
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                // An upload of unknown size counts as it grows.
                let five = [UInt8](repeating: 5, count: 5 + Int(QuotaPrice.file("c")))
                let stream = Frames.begin("c", size: nil) + Frames.data(five) + Frames.end(five)
                try expect([.quotaExceeded], from: client, to: stream)
                try expect([.committed], from: client, to: Frames.upload("b", [1, 2, 3, 4]))
                let parted = PartedUpload("big", SplitMix64.bytes(seed: 7, Limits.blockSize + 1))
                try expect([.quotaExceeded], from: client, to: parted.part(0..<Limits.blockSize))
                #expect(server.tree == ["a", "b", "o"] && server.parts == [])
            }
            _ = unlink(directory.path("store/a"))
            try await secured { [pair] server in
                // The room of a file that another program has removed is free after the next count.
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                try expect([.committed], from: client, to: Frames.upload("d", [1, 2, 3, 4, 5, 6]))
                try expect([.quotaExceeded], from: client, to: Frames.upload("e", [1]))
            }
        }

        /// Canonically equal strings name two files, and each takes room.
        @Test func namesThatLookAlikeCountTwice() async throws {
            try admit(pair.key) {
                $0.quota = 10 + QuotaPrice.file("\u{E9}") + QuotaPrice.file("e\u{301}") + QuotaPrice.file("c")
            }
            try await secured { [pair] server in
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                for name in ["\u{E9}", "e\u{301}"] {
                    try expect([.committed], from: client, to: Frames.upload(name, [1, 2, 3, 4]))
                }
            }
            try await secured { [pair] server in
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                try expect([.quotaExceeded], from: client, to: Frames.upload("b", [1, 2, 3]))
                try expect([.committed], from: client, to: Frames.upload("c", [1, 2]))
            }
        }

        /// An upload in parts counts with its whole size from its beginning, whichever connections send the parts.
        @Test func partsCountAsAWhole() async throws {
            try admit(pair.key) { $0.quota = UInt64(3 * Limits.blockSize) }
            try await secured { [pair] server in
                let content = SplitMix64.bytes(seed: 8, 2 * Limits.blockSize)
                let (one, two) = (PartedUpload("one", content), PartedUpload("two", content))
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                try expect([.staged], from: client, to: one.part(0..<Limits.blockSize))
                try expect([.quotaExceeded], from: client, to: two.part(0..<Limits.blockSize))
                try expect([.aborted], from: client, to: one.withdrawal)
            }
            try await secured { [pair] server in
                let two = PartedUpload("two", SplitMix64.bytes(seed: 9, 2 * Limits.blockSize))
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                try expect([.staged], from: client, to: two.part(0..<Limits.blockSize))
            }
            try await secured { [pair] server in
                let three = PartedUpload("three", SplitMix64.bytes(seed: 10, 3 * Limits.blockSize))
                let client = try server.securedClient(pair)
                client.send(Frames.hello)
                try expect([.quotaExceeded], from: client, to: three.part(0..<Limits.blockSize))
            }
        }

        // MARK: Visibility

        /// A client sees its folder as the top of the store: in requests, in results and in receipts.
        @Test(.directoryOnly) func aClientSeesItsFolderOnly() async throws {
            let home = try RelativePath("in/camera")
            try admit(pair.key) { $0.folder = home }
            _ = mkdir(directory.path("store/in"), 0o755)
            _ = symlink("9", directory.path("store/in/secret"))
            try await secured { [pair] server in
                let client = try server.securedClient(pair)
                let (content, id): ([UInt8], UploadID) = ([1, 2, 3], .random())
                client.send(Frames.hello(features: .receipts) + Frames.upload("a", content, id: id))
                guard case .message(.welcome(let welcome)) = try client.next(), let key = welcome.serverKey else {
                    throw RawClient.Failure(description: "no key")
                }
                let serverKey = try #require(ServerKey(key))
                let first = try #require(try client.receipted(by: serverKey) { _ in "a" }.first)
                let result = first.result
                #expect(result.code == .committed && result.id == id && result.storedPath == nil)
                #expect(server.content("in/camera/a") == content)
                let receipt = first.signed.receipt
                #expect(receipt.path.string == "a" && receipt.uploadID == id && receipt.sender == "laptop")
                client.send(Frames.upload("a", [4]))
                let second = try #require(try client.receipted(by: serverKey) { _ in nil }.first)
                #expect(second.result.storedPath == "a-1")
                client.send(Frames.encoded(.lookup(Lookup([id], digest: .xxh128))))
                let found = try client.result()
                #expect(found.id == id && found.storedPath == "a")
                client.send(Frames.upload("a/b", [5]))
                let refusal = try client.result()
                #expect(!refusal.code.isSuccess && !refusal.message.contains("camera"), "\(refusal)")
                #expect(try client.codes(to: Frames.upload("../secret", [5])) == [.invalidPath])
                #expect(server.tree.contains("in/secret") && !server.tree.contains("secret"))
            }
        }

        /// The IDs of another client's uploads are unknown to a client, which can neither look them up, nor resume or
        /// withdraw the uploads.
        @Test func idsOfOthersAreNotKnown() async throws {
            let other = KeyPair()
            try admit(pair.key)
            try lists.admit(AuthorizedKey(other.key, name: "other"))
            try await secured { [pair] server in
                let content = SplitMix64.bytes(seed: 5, 2 * Limits.blockSize)
                let stored = UploadID.random()
                let parted = PartedUpload("big", content)
                let owner = try server.securedClient(pair)
                owner.send(Frames.hello + Frames.upload("a", [1], id: stored))
                #expect(try owner.result().code == .committed)
                #expect(try owner.codes(to: parted.part(0..<Limits.blockSize)) == [.staged])

                let thief = try server.securedClient(other)
                thief.send(Frames.hello + Frames.encoded(.lookup(Lookup([stored, parted.id], digest: .xxh128))))
                #expect(try thief.answer() == .unknown([stored, parted.id]))
                thief.send(parted.question)
                guard case .accept = try thief.answer() else {
                    throw RawClient.Failure(description: "there are blocks")
                }
                #expect(try thief.codes(to: parted.withdrawal) == [.aborted])
                #expect(try thief.codes(to: Frames.upload("b", [2], id: stored)) == [.committed])

                owner.send(parted.question)
                guard case .have(let have) = try owner.answer() else { throw RawClient.Failure(description: "lost") }
                #expect(have.id == parted.id && have.digests.count == 1)
                guard case .accept(parted.id) = try owner.answer() else { throw RawClient.Failure(description: "?") }
                #expect(try owner.codes(to: parted.part(Limits.blockSize..<content.count)) == [.staged])
                #expect(try owner.codes(to: parted.multipart) == [.committed])
                #expect(server.content("big") == content)
            }
        }

        /// After a restart a client finds its stored uploads and resumes unfinished ones.
        @Test func idsStayTheSameAcrossRestarts() async throws {
            try admit(pair.key)
            let content = SplitMix64.bytes(seed: 6, 2 * Limits.blockSize)
            let parted = PartedUpload("big", content)
            try await secured { [pair, parted] server in
                let client = try server.securedClient(pair)
                #expect(try client.codes(to: Frames.hello + parted.part(0..<Limits.blockSize)) == [.staged])
            }
            try await secured { [pair, parted] server in
                let client = try server.securedClient(pair)
                client.send(Frames.hello + parted.question)
                guard case .have(let have) = try client.answer() else { throw RawClient.Failure(description: "lost") }
                #expect(have.digests.count == 1)
            }
        }
    }
}

extension TestServer {
    /// Connects with TLS.
    ///
    /// - Parameter pair: the client's key; nil for a client without key.
    func securedClient(_ pair: KeyPair? = nil) throws -> RawClient {
        let client = try client()
        try client.secure(pair)
        return client
    }
}
