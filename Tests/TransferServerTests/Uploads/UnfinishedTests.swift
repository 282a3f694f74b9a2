import CLinux
import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Records of unfinished uploads in parts in the catalog.
    @Suite(.overEachStore) struct UnfinishedTests {
        private static let content = SplitMix64.bytes(seed: 31, 2 * Limits.blockSize + 5)
        private static let front = 0..<Limits.blockSize

        private let directory: TemporaryDirectory
        private let store = StoreKind.current
        private let upload = PartedUpload("d/big", content)

        init() throws {
            directory = try TemporaryDirectory()
        }

        /// The records as a program beside the server reads them.
        private var records: any UploadRecords {
            get throws { try store.records(in: directory) }
        }

        private func unfinished() throws -> [UnfinishedUpload] { try records.unfinished() }

        private func entries() throws -> [CatalogEntry] {
            var entries: [CatalogEntry] = []
            try records.forEachEntry { entries.append($0) }
            return entries
        }

        private var isUnfinished: Bool { (try? unfinished().map(\.id)) == [upload.id] }

        private var isForgotten: Bool { (try? unfinished().isEmpty) ?? false }

        @Test(arguments: [true, false]) func anUploadInPartsIsThereFromItsBeginning(_ isAskedFor: Bool) async throws {
            try await serving(in: directory) { [self] server in
                let client = try server.greetedClient(run: 7)
                if isAskedFor {
                    client.send(upload.question)
                } else {
                    #expect(try client.codes(to: upload.part(Self.front)) == [.staged])
                }
                try server.waitUntil("the catalog knows the upload") { isUnfinished }
                let found = try #require(try unfinished().first)
                #expect(found.id == upload.id && found.path == "d/big" && found.size == UInt64(Self.content.count))
                #expect(found.begun > 0 && found.run == 7 && found.sender.hasPrefix("127.0.0.1:"))
                #expect(try entries().isEmpty)
            }
            // An upload that a client has only asked about leaves nothing to resume.
            #expect(isAskedFor ? isForgotten : isUnfinished)
        }

        /// The next server continues the upload, and the time at which the upload was begun stays.
        @Test func itIsOneEntryToItsEnd() async throws {
            try await serving(in: directory) { [self] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.part(Self.front)) == [.staged])
            }
            let before = try unfinished()
            try await serving(in: directory) { [self] server in
                let client = try server.greetedClient()
                client.send(upload.question)
                while case .have = try client.answer() {}
                let rest = upload.part(Self.front.upperBound..<Self.content.count)
                #expect(try client.codes(to: rest) == [.staged])
                #expect(try unfinished() == before)
                #expect(try client.codes(to: upload.multipart) == [.committed])
            }
            let entry = try #require(try entries().first)
            #expect(try entries().count == 1 && unfinished().isEmpty)
            #expect(entry.state == .committed && entry.id == upload.id && entry.digest == Frames.digest(Self.content))
        }

        /// An upload for which there is no room leaves no part. A question of some sixty bytes could otherwise take a
        /// place, or all the free room.
        @Test(.directoryOnly) func whatThereIsNoRoomForLeavesNothing() async throws {
            try await serving(in: directory) { server in
                let client = try server.greetedClient()
                for size in [1 << 61, .max >> 1] as [UInt64] {
                    let begin = Begin(id: .random(), path: "huge", size: size, digest: .xxh128, scope: .multipart)
                    #expect(try client.codes(to: Frames.encoded(.resume(begin))) == [.insufficientStorage])
                    #expect(server.parts.isEmpty)
                }
            }
        }

        /// The upload is refused at its end, so its part is gone.
        @Test func whatIsRefusedLeavesTheCatalog() async throws {
            try await serving(in: directory) { [self] server in
                let client = try server.greetedClient()
                let frames = upload.inOnePart + upload.multipart(digestOf: Self.content.reversed())
                #expect(try client.codes(2, to: frames) == [.staged, .digestMismatch])
                // The catalog forgets the upload while the client's connection is still open.
                try server.waitUntil("the catalog forgets the upload") { isForgotten }
            }
        }

        @Test(.directoryOnly) func whatIsTooOldLeavesTheCatalog() async throws {
            try await serving(in: directory) { [self] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.inOnePart) == [.staged])
            }
            #expect(isUnfinished)
            let old = timeval(tv_sec: time(nil) - 100, tv_usec: 0)
            #expect(utimes(directory.path("store/.transfer/incoming/\(upload.id).part"), [old, old]) == 0)
            try await serving({ $0.keepUnfinished = .seconds(50) }, in: directory) { [self] server in
                try server.waitUntil("the catalog forgets the upload") { isForgotten }
            }
        }

        /// A scrub reports neither the part nor its record as lost, strange or acknowledged.
        @Test(.directoryOnly) func aScrubLeavesItAlone() async throws {
            let fixture = try ScrubFixture()
            try await serving(in: fixture.directory) { [self] server in
                let client = try server.greetedClient()
                #expect(try client.codes(2, to: upload.inOnePart + Frames.upload("a", [1])) == [.staged, .committed])
            }
            for repairing in [false, true] {
                let outcome = try fixture.scrub(repairing: repairing)
                #expect(outcome.found.isEmpty && outcome.summary.isWell)
                #expect(outcome.summary.unfinished.files == 1)
            }
            try await serving(in: fixture.directory) { [self] server in
                let client = try server.greetedClient()
                client.send(upload.question)
                while case .have = try client.answer() {}
                #expect(try client.codes(to: upload.multipart) == [.committed])
            }
            #expect(try fixture.scrub().found.isEmpty)
        }
    }
}
