import Glibc
import Testing
import TransferAccess
import TransferCodec
import TransferKeys
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Clients compare whole folders with the server's by digests.
    @Suite(.overEachStoreIfAsked) struct CompareTests {
        private static let ids = (1...20 as ClosedRange<UInt64>).map { UploadID(high: 1, low: $0) }

        private static func digest(_ ids: some Sequence<UploadID>) -> FolderDigest {
            let named = ids.map { ($0, "\($0.low)") }.sorted { PathKey($0.1) < PathKey($1.1) }
            let digester = UploadListDigester()
            for (id, name) in named { digester.add(id, name) }
            return digester.finish()
        }

        private static func uploads(_ ids: [UploadID], in folder: String = "d") -> [UInt8] {
            ids.flatMap { Frames.upload("\(folder)/\($0.low)", [UInt8($0.low)], id: $0) }
        }

        /// Stores a file for each ID, `d/1` to `d/20`.
        private static func fill(_ client: RawClient) throws {
            let codes = try client.codes(ids.count, to: uploads(ids))
            #expect(codes == Array(repeating: .committed, count: ids.count))
        }

        private static func ask(
            _ client: RawClient, _ ids: some Sequence<UploadID>, in folder: String = "d",
            _ function: DigestFunction = .xxh128
        ) throws -> Outcome {
            client.ask(.compare(CompareRequest(id: 3, .uploads(function), in: folder, digest(ids))))
            return try client.outcome()
        }

        /// The server also knows the uploads that it has only just recorded.
        @Test func aFolderIsKnownByItsUploads() async throws {
            let directory = try TemporaryDirectory()
            for isNew in [true, false] {
                try await serving(in: directory) { server in
                    let client = try server.greetedClient()
                    if isNew { try Self.fill(client) }
                    let answer = try Self.ask(client, Self.ids)
                    #expect(answer == Outcome(id: 3, code: .alreadyStored, isDurable: true, count: 20))
                }
            }
        }

        @Test func whatIsNotTheSameIsNotKnown() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try Self.fill(client)
                let different = Outcome(id: 3, code: .completed)
                #expect(try Self.ask(client, Self.ids.dropLast()) == different)
                #expect(try Self.ask(client, Self.ids + [UploadID(high: 2, low: 1)]) == different)
                #expect(try Self.ask(client, Self.ids, in: "e") == different)
                #expect(try Self.ask(client, Self.ids, in: "") == different)
                #expect(try Self.ask(client, Self.ids, .sha256) == different)
                // A digest that matches no folder.
                let wrong = FolderDigest(count: 20, bytes: [UInt8](repeating: 7, count: FolderDigest.size))
                client.ask(.compare(CompareRequest(id: 4, .uploads(.xxh128), in: "d", wrong)))
                #expect(try client.outcome().code == .completed)
                let many = FolderDigest(count: .max, bytes: Self.digest(Self.ids).bytes)
                client.ask(.compare(CompareRequest(id: 5, .uploads(.xxh128), in: "d", many)))
                #expect(try client.outcome().code == .completed)
                #expect(try Self.ask(client, Self.ids).code == .alreadyStored)
            }
        }

        /// Any change of a file that a lookup would notice is noticed.
        @Test(.directoryOnly, arguments: 0..<5) func onlyUntouchedFilesAreKnown(_ change: Int) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try Self.fill(client)
                let path = server.directory.path("store/d/7")
                switch change {
                case 0: unlink(path)
                case 1: truncate(path, 5)
                case 2: utimes(path, nil)
                case 3:
                    unlink(path)
                    symlink("8", path)
                default:
                    unlink(path)
                    mkdir(path, 0o755)
                }
                #expect(try Self.ask(client, Self.ids).code == .completed)
                #expect(try Self.ask(client, Self.ids.filter { $0.low != 7 }).code == .alreadyStored)
            }
        }

        /// An upload that another one has replaced is no longer known. The newest upload of the file is.
        @Test func theNewestUploadOfEachFileCounts() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try Self.fill(client)
                let newer = UploadID(high: 3, low: 1)
                let frames = Frames.upload("d/1", [9, 9], id: newer, conflict: .overwrite)
                #expect(try client.codes(to: frames) == [.committed])
                #expect(try Self.ask(client, Self.ids).code == .completed)
                #expect(try Self.ask(client, [newer] + Self.ids.dropFirst()).code == .alreadyStored)
            }
        }

        /// An upload that got another name counts under that name, and not under the requested one.
        @Test(.directoryOnly) func theNamesOnTheServerCount() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Frames.upload("d/1", [99], id: UploadID(high: 9, low: 9))) == [.committed])
                try Self.fill(client)
                #expect(server.tree.contains("d/1-1"))
                unlink(server.directory.path("store/d/1"))
                #expect(try Self.ask(client, Self.ids).code == .completed)
                #expect(try Self.ask(client, Self.ids.dropFirst()).code == .completed)
            }
        }

        /// The newest upload of a file is found, however often the file was replaced.
        @Test func aFileThatWasReplacedOften() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try Self.fill(client)
                let newer = (0..<100 as Range<UInt64>).map { UploadID(high: 100 + $0, low: 1) }
                for id in newer {
                    let content = Array("\(id.high)".utf8)
                    #expect(
                        try client.codes(to: Frames.upload("d/1", content, id: id, conflict: .overwrite)) == [
                            .committed
                        ])
                }
                #expect(try Self.ask(client, [newer[99]] + Self.ids.dropFirst()).code == .alreadyStored)
                #expect(try Self.ask(client, [newer[98]] + Self.ids.dropFirst()).code == .completed)
            }
        }

        /// The newest uploads are found even if all files of a folder were replaced often.
        @Test func aFolderThatWasReplacedOften() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let names = (1...150 as ClosedRange<UInt64>)
                var newest: [UploadID] = []
                for number in 0..<40 as Range<UInt64> {
                    newest = names.map { UploadID(high: 1_000 + number, low: $0) }
                    let frames = newest.flatMap {
                        Frames.upload("r/\($0.low)", Array("\(number)".utf8), id: $0, conflict: .overwrite)
                    }
                    #expect(try client.codes(newest.count, to: frames).allSatisfy { $0 == .committed })
                }
                #expect(try Self.ask(client, newest, in: "r").code == .alreadyStored)
            }
        }

        /// A question about few files does not make the server look at many.
        @Test func aQuestionAboutFewFilesInAFolderOfMany() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let ids = (1...6_000 as ClosedRange<UInt64>).map { UploadID(high: 5, low: $0) }
                for start in stride(from: 0, to: ids.count, by: 2_000) {
                    let frames = ids[start..<start + 2_000].flatMap { Frames.upload("big/\($0.low)", [], id: $0) }
                    #expect(try client.codes(2_000, to: frames).allSatisfy { $0 == .committed })
                }
                #expect(try Self.ask(client, ids, in: "big").code == .alreadyStored)
                #expect(try Self.ask(client, ids.prefix(2), in: "big").code == .completed)
            }
        }

        /// Each client sees the files that it has sent itself, although other clients have sent the same files or more.
        @Test func everyClientHasUploadsOfItsOwn() async throws {
            let directory = try TemporaryDirectory()
            let lists = try StoreKind.current.access(in: directory)
            let pairs = [KeyPair(), KeyPair()]
            for (index, pair) in pairs.enumerated() {
                try lists.admit(AuthorizedKey(pair.key, name: "client\(index)"))
            }
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await serving(configure, in: directory) { server in
                let first = try server.securedClient(pairs[0])
                first.send(Frames.hello)
                try Self.fill(first)
                let second = try server.securedClient(pairs[1])
                second.send(Frames.hello)
                let codes = try second.codes(10, to: Self.uploads(Array(Self.ids[..<10])))
                #expect(codes == Array(repeating: .alreadyStored, count: 10))
                #expect(try second.codes(to: Frames.upload("d/more", [1])) == [.committed])
                #expect(try Self.ask(first, Self.ids).code == .alreadyStored)
                #expect(try Self.ask(second, Self.ids).code == .completed)
                #expect(try Self.ask(second, Self.ids[..<10]).code == .completed)
            }
        }

        @Test func whoeverMayNotSendIsNotTold() async throws {
            let directory = try TemporaryDirectory()
            let lists = try StoreKind.current.access(in: directory)
            let (reader, writer) = (KeyPair(), KeyPair())
            var options = AccessOptions()
            options.rights = .readOnly
            try lists.admit(AuthorizedKey(reader.key, name: "reader", options: options))
            options.rights = .writeOnly
            options.folder = try RelativePath("mine")
            try lists.admit(AuthorizedKey(writer.key, name: "writer", options: options))
            let configure = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await serving(configure, in: directory) { server in
                let (writing, reading) = (try server.securedClient(writer), try server.securedClient(reader))
                writing.send(Frames.hello)
                reading.send(Frames.hello)
                try Self.fill(writing)
                #expect(try Self.ask(writing, Self.ids).code == .alreadyStored)
                #expect(try Self.ask(writing, Self.ids, in: "../mine/d").code == .invalidPath)
                #expect(try Self.ask(reading, Self.ids, in: "mine/d").code == .forbidden)
                // Only clients that may list files may compare the entries of folders.
                func entries(_ client: RawClient, in folder: String) throws -> ResultCode {
                    client.ask(.compare(CompareRequest(id: 6, .entries, in: folder, Self.digest(Self.ids))))
                    return try client.outcome().code
                }
                #expect(try entries(writing, in: "d") == .forbidden)
                #expect(try entries(reading, in: "mine/d") == .completed)
                #expect(try entries(reading, in: ".transfer") == .invalidPath)
                #expect(try entries(reading, in: "nothing") == .notFound)
                #expect(try entries(reading, in: "mine/d/1") == .wrongForm)
            }
        }

        @Test(.directoryOnly) func whatIsInAFolder() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try Self.fill(client)
                #expect(try client.codes(to: Frames.upload("d/sub/x", [1])) == [.committed])
                let (listed, _) = try client.list("d")
                var digester = FolderDigester()
                for entry in listed {
                    if entry.form == .directory {
                        digester.add(folder: entry.name)
                    } else {
                        digester.add(file: entry.name, size: entry.size, modified: entry.modified)
                    }
                }
                func ask() throws -> Outcome {
                    client.ask(.compare(CompareRequest(id: 6, .entries, in: "d", digester.digest)))
                    return try client.outcome()
                }
                #expect(try ask() == Outcome(id: 6, code: .alreadyStored, count: 21))
                // A client cannot have an entry whose name no path can contain.
                let foreign = server.directory.path("store/d/.transfer-parts")
                #expect(mkdir(foreign, 0o755) == 0)
                #expect(try ask() == Outcome(id: 6, code: .completed))
                #expect(rmdir(foreign) == 0)
                #expect(try ask().code == .alreadyStored)
                utimes(server.directory.path("store/d/7"), nil)
                #expect(try ask() == Outcome(id: 6, code: .completed))
            }
        }

        /// The server answers in steps, so a folder of many files does not block the connection.
        @Test func aLargeFolder() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let ids = (1...3_000 as ClosedRange<UInt64>).map { UploadID(high: 5, low: $0) }
                let codes = try client.codes(
                    ids.count, to: ids.flatMap { Frames.upload("big/\($0.low)", [], id: $0) })
                #expect(codes.allSatisfy { $0 == .committed })
                #expect(try Self.ask(client, ids, in: "big").code == .alreadyStored)
                #expect(try Self.ask(client, ids.dropFirst(), in: "big").code == .completed)
                // The request is cancelled before, during or after the comparison, and gets one answer.
                client.ask(.compare(CompareRequest(id: 8, .uploads(.xxh128), in: "big", Self.digest(ids))))
                client.send(.cancel(8))
                #expect([.aborted, .alreadyStored].contains(try client.outcome().code))
                #expect(try Self.ask(client, Self.ids).code == .completed)
            }
        }
    }
}
