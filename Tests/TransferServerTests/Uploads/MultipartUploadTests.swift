import Testing
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Inconsistent sizes and offsets of uploads in parts, in orders that no regular client sends.
    @Suite(.overEachStoreIfAsked) struct MultipartUploadTests {
        private static let block = UInt64(Limits.blockSize)
        private static let content = SplitMix64.bytes(seed: 61, Limits.blockSize + 5)

        private let upload = PartedUpload("big", content)

        /// A size of zero matches an upload without parts, and no part can have it.
        @Test func theEndOfWhatWasOnlyAskedFor() async throws {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                client.send(upload.question(size: nil))
                try client.expectAccept()
                #expect(try client.codes(to: upload.emptyEnd) == [.incomplete])
                client.send(upload.question(size: nil))
                try client.expectAccept()
                #expect(try client.codes(2, to: upload.inOnePart + upload.multipart) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
                #expect(server.tree == ["big"] && server.parts.isEmpty)
            }
        }

        /// The file is larger than the declared total, and a restarted server does not know why.
        @Test(.directoryOnly) func aTotalBelowWhatIsThere() async throws {
            let directory = try TemporaryDirectory()
            try await serving(in: directory) { [upload] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.farBlock) == [.staged])
            }
            for _ in 0..<2 {
                try await serving(in: directory) { [upload] server in
                    let client = try server.greetedClient()
                    #expect(try client.codes(to: upload.begin(0, 5, total: 5) + Frames.encoded(.abort)) == [.aborted])
                    client.send(upload.question(size: nil))
                    try client.expectAccept()
                    client.send(upload.question(size: 5))
                    try client.expectAccept()
                    try server.checkServes()
                }
            }
            // The old parts do not count, and their file is gone in the end.
            try await serving(in: directory) { [upload] server in
                let client = try server.greetedClient()
                let short = PartedUpload("short", Array(Self.content[..<5]), id: upload.id)
                #expect(try client.codes(2, to: short.inOnePart + short.multipart) == [.staged, .committed])
                #expect(server.content("short") == Array(Self.content[..<5]))
                #expect(server.parts.isEmpty)
            }
        }

        /// While the server knows the parts, another total contradicts the upload.
        @Test func aTotalBelowWhatHasArrived() async throws {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.farBlock) == [.staged])
                #expect(try client.codes(to: upload.begin(0, 5, total: 5)) == [.contentMismatch])
                client.send(Frames.encoded(.abort))
                #expect(try client.codes(to: upload.farBlock) == [.staged])
            }
        }

        @Test func aPartBehindTheEnd() async throws {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                let front = 0..<Limits.blockSize
                #expect(try client.codes(to: upload.part(front)) == [.staged])
                #expect(try client.codes(to: upload.farBlock) == [.contentMismatch])
                // Half of this block lies beyond the end.
                #expect(try client.codes(to: upload.block(at: Self.block)) == [.contentMismatch])
                let rest = upload.part(front.upperBound..<Self.content.count)
                #expect(try client.codes(2, to: rest + upload.multipart) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
            }
        }

        /// A total that is too large leaves neither an upload in memory nor a record in the catalog.
        @Test(arguments: [UInt64(Int64.max) + 1, .max - 1] as [UInt64]) func totalsBeyondAnyFile(_ total: UInt64)
            async throws
        {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                let frames = upload.begin(0, Self.block, total: total) + Frames.encoded(.abort)
                #expect(try client.codes(to: frames) == [.uploadTooLarge])
                #expect(try client.codes(to: upload.question(size: total)) == [.uploadTooLarge])
                #expect(try client.codes(2, to: upload.inOnePart + upload.multipart) == [.staged, .committed])
            }
        }

        /// The part's content is complete, but its end has not been sent when a newer connection takes the upload over.
        @Test(.directoryOnly) func aLateEndOfAPartThatWasTakenOver() async throws {
            try await serving { [upload] server in
                let (older, newer) = (try server.greetedClient(), try server.greetedClient())
                let part = upload.inOnePart
                let end = Frames.end(Self.content)
                older.send(Array(part.dropLast(end.count)))
                let path = server.directory.path("store/.transfer/incoming/\(upload.id).part")
                try server.waitUntil("the part is written") { TestServer.read(path) == Self.content }
                newer.send(upload.question)
                while case .have = try newer.answer() {}
                #expect(try older.codes(to: end) == [.incomplete])
                #expect(try older.codes(to: upload.multipart) == [.incomplete])
                #expect(try newer.codes(2, to: upload.inOnePart + upload.multipart) == [.staged, .committed])
                #expect(server.content("big") == Self.content)
            }
        }
    }
}

extension PartedUpload {
    fileprivate func question(size: UInt64?) -> [UInt8] {
        Frames.encoded(.resume(Begin(id: id, path: path, size: size, digest: function, scope: .multipart)))
    }

    /// An end with a size of zero.
    fileprivate var emptyEnd: [UInt8] {
        Frames.encoded(.begin(Begin(id: id, path: path, size: 0, digest: function, scope: .multipart))) + Frames.end([])
    }

    fileprivate func begin(_ offset: UInt64, _ size: UInt64, total: UInt64?) -> [UInt8] {
        let part = Begin.Part(of: id, offset: offset, total: total)
        return Frames.encoded(
            .begin(Begin(id: .random(), path: path, size: size, digest: function, scope: .part(part))))
    }

    /// The first block as a part of a stream, at another offset.
    fileprivate func block(at offset: UInt64) -> [UInt8] {
        let bytes = Array(content[..<Limits.blockSize])
        return begin(offset, UInt64(bytes.count), total: nil) + Frames.stored(bytes) + Frames.end(bytes, function)
    }

    fileprivate var farBlock: [UInt8] { block(at: 10 * UInt64(Limits.blockSize)) }
}
