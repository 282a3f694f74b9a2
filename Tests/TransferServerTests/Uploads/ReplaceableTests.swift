import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Uploads that declare the version that they may replace.
    @Suite(.overEachStore) struct ReplaceableTests {
        private static func upload(
            _ content: [UInt8], _ version: FileVersion?, _ conflict: ConflictPolicy = .overwrite
        ) -> [UInt8] {
            var begin = Begin(id: .random(), path: "a", size: UInt64(content.count), conflict: conflict)
            begin.version = version
            return Frames.encoded(.begin(begin)) + Frames.stored(content) + Frames.end(content)
        }

        private static func version(_ client: RawClient) throws -> FileVersion {
            try #require(try client.list().entries.first { $0.name == "a" }).version
        }

        @Test func whatTheClientHasSeenIsReplaced() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload([1], FileVersion.none)) == [.committed])
                let seen = try Self.version(client)
                // Uploading the same content is not a conflict, whatever the version is.
                #expect(try client.codes(to: Self.upload([1], FileVersion.none)) == [.alreadyStored])
                #expect(try client.codes(to: Self.upload([2], FileVersion.none)) == [.pathConflict])
                #expect(try client.codes(to: Self.upload([2], seen)) == [.committed])
                #expect(try client.codes(to: Self.upload([3], seen)) == [.pathConflict])
                #expect(try client.codes(to: Self.upload([2], seen)) == [.alreadyStored])
                #expect(server.content("a") == [2])
                // Other policies ignore the version.
                #expect(try client.codes(to: Self.upload([4], seen, .keepBoth)) == [.committed])
                // A free path may be used.
                client.ask(.remove(RemoveRequest(id: 7, path: "a")))
                _ = try client.listed()
                #expect(try client.codes(to: Self.upload([5], seen)) == [.committed])
                #expect(server.content("a") == [5])
            }
        }

        /// Content that cannot be published need not be sent.
        @Test func aLongOneIsRefusedBeforeItsContent() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload([1], nil)) == [.committed])
                let seen = try Self.version(client)
                var begin = Begin(id: .random(), path: "a", size: 1 << 24, conflict: .overwrite, expectsAccept: true)
                begin.version = FileVersion.none
                #expect(try client.codes(to: Frames.encoded(.begin(begin))) == [.pathConflict])
                let other = try server.greetedClient()
                begin.version = seen
                other.send(Frames.encoded(.begin(begin)))
                try other.expectAccept()
            }
        }
    }
}
