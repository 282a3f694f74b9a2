import CLinux
import Glibc
import Testing
import TransferPorts
import TransferCatalog
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer
@testable import TransferStore

extension ServerTests {
    /// Files whose content the disk has lost are neither sent nor acknowledged. Pushing the content again heals them.
    @Suite(.directoryOnly) struct RottenTests {
        private static let long = SplitMix64.bytes(seed: 12, 2 * Limits.blockSize + 5)

        /// Content of the stored file. It has a name, because test cases are printed with their arguments.
        enum Sample: CaseIterable {
            case short, long

            var content: [UInt8] { self == .short ? [1, 2, 3] : RottenTests.long }
        }

        private let fixture: ScrubFixture

        init() throws {
            fixture = try ScrubFixture()
        }

        /// Stores `a` and damages it.
        private func storeAndLose(_ content: [UInt8]) async throws {
            try await fixture.push([("a", content)])
            fixture.rot("a", at: content.count - 1)
            try fixture.hideTouch("a")
        }

        private func content(_ name: String) -> [UInt8]? { TestServer.read(fixture.path(name)) }

        private static func upload(
            _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, _ function: DigestFunction = .xxh128,
            accept: Bool = false
        ) -> [UInt8] {
            Frames.begin(
                "a", size: UInt64(content.count), conflict: conflict, expectsAccept: accept, digest: function)
                + Frames.stored(content) + Frames.end(content, function)
        }

        // MARK: Healing

        @Test(arguments: Sample.allCases, [.keepBoth, .overwrite, .skip, .fail] as [ConflictPolicy])
        func theSameContentHealsIt(_ sample: Sample, conflict: ConflictPolicy) async throws {
            let content = sample.content
            try await storeAndLose(content)
            #expect(try fixture.scrub().found == ["rotten a"])
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                client.send(Self.upload(content, conflict))
                let result = try client.result()
                #expect(result.code == .committed && result.storedPath == nil && result.isDurable)
                #expect(!result.hasReplaced)
                #expect(server.tree == ["a"] && self.content("a") == content)
                #expect(try client.fetch(FetchRequest(id: 1, path: "a")).content == content)
                let again = conflict == .skip ? ResultCode.skipped : .alreadyStored
                #expect(try client.codes(to: Self.upload(content, conflict)) == [again])
            }
            #expect(try fixture.scrub().found.isEmpty)
        }

        /// No scrub has found the damage yet, so the policy `skip` leaves the file alone. With the other policies the
        /// content heals it.
        @Test(arguments: Sample.allCases, [.keepBoth, .fail, .skip] as [ConflictPolicy])
        func alsoBeforeAnybodyHasFoundIt(_ sample: Sample, conflict: ConflictPolicy) async throws {
            let content = sample.content
            try await storeAndLose(content)
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                let codes = try client.codes(to: Self.upload(content, conflict))
                #expect(codes == [conflict == .skip ? .skipped : .committed])
                #expect(server.tree == ["a"] && (self.content("a") == content) == (conflict != .skip))
            }
        }

        @Test(arguments: [false, true]) func theSameClientHealsIt(repairing: Bool) async throws {
            try await storeAndLose(Self.long)
            #expect(try fixture.scrub(repairing: repairing).found == ["rotten a"])
            let again = try await fixture.push([("a", Self.long)])
            #expect(again.map(\.code) == [.committed] && again[0].storedPath == nil)
            #expect(content("a") == Self.long && content("a-1") == nil)
            #expect(try await fixture.push([("a", Self.long)]).map(\.code) == [.alreadyStored])
        }

        @Test(arguments: Sample.allCases) func aCopyUnderANumberIsNoReasonToLeaveIt(_ sample: Sample) async throws {
            let content = sample.content
            try await storeAndLose(content)
            try TestServer.write(content, to: fixture.path("a-1"))
            #expect(try fixture.scrub().findings.map(\.kind).contains(.rotten))
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload(content)) == [.committed])
                #expect(server.tree == ["a", "a-1"] && self.content("a") == content)
            }
        }

        @Test func partsHealIt() async throws {
            try await storeAndLose(Self.long)
            #expect(try fixture.scrub().found == ["rotten a"])
            try await serving(in: fixture.directory) { server in
                let upload = PartedUpload("a", Self.long)
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.inOnePart) == [.staged])
                #expect(try client.codes(to: upload.multipart) == [.committed])
                #expect(server.tree == ["a"] && self.content("a") == Self.long)
            }
        }

        @Test(arguments: Sample.allCases) func soDoesOneWithAnotherDigestFunction(_ sample: Sample) async throws {
            let content = sample.content
            try await storeAndLose(content)
            try await serving(in: fixture.directory) { server in
                let codes = try server.greetedClient().codes(to: Self.upload(content, .keepBoth, .sha256))
                #expect(codes == [.committed] && server.tree == ["a"])
            }
        }

        @Test func otherContentDoesNot() async throws {
            try await storeAndLose([1, 2, 3])
            #expect(try fixture.scrub().found == ["rotten a"])
            let rotten = content("a")
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload([4, 5, 6])) == [.committed])
                #expect(try client.codes(to: Self.upload([7, 8, 9], .skip)) == [.skipped])
                #expect(try client.codes(to: Self.upload([7, 8, 9], .fail)) == [.pathConflict])
                #expect(server.tree == ["a", "a-1"] && self.content("a") == rotten)
            }
        }

        /// A user has changed the file, which gives it another time of modification.
        @Test(arguments: [false, true]) func whatSomebodyHasChangedStays(wasRotten: Bool) async throws {
            try await storeAndLose([1, 2, 3])
            if wasRotten { #expect(try fixture.scrub().found == ["rotten a"]) }
            try TestServer.write([7, 7, 7], to: fixture.path("a"))
            utimensat(AT_FDCWD, fixture.path("a"), [timespec(), timespec(tv_sec: 5, tv_nsec: 0)], 0)
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                client.send(Self.upload([1, 2, 3]))
                #expect(try client.result().storedPath == "a-1")
                #expect(self.content("a") == [7, 7, 7])
                #expect(try client.fetch(FetchRequest(id: 1, path: "a")).content == [7, 7, 7])
            }
        }

        /// The file is compared with the last upload stored under its name, and not with an earlier one.
        @Test func whatWasThereBeforeDoesNotComeBack() async throws {
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload([1, 2, 3])) == [.committed])
                #expect(try client.codes(to: Self.upload([4, 5, 6], .overwrite)) == [.committed])
            }
            fixture.rot("a")
            try fixture.hideTouch("a")
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                client.send(Self.upload([1, 2, 3]))
                #expect(try client.result().storedPath == "a-1")
            }
        }

        // MARK: Lookups

        /// A scrub beside the server finds the damage, which the server's memory does not know.
        @Test func itIsAcknowledgedNoMore() async throws {
            try await serving(in: fixture.directory) { server in
                let id = UploadID(high: 1, low: 1)
                let client = try server.greetedClient()
                #expect(try client.codes(to: Frames.upload("a", [1, 2, 3], id: id)) == [.committed])
                #expect(try client.lookUp([id]).unknown.isEmpty)
                fixture.rot("a")
                #expect(try fixture.scrub().found == ["rotten a"])
                #expect(try client.lookUp([id]).unknown == [id])
                #expect(try client.codes(to: Frames.upload("a", [1, 2, 3], id: id)) == [.committed])
                #expect(try client.lookUp([id]).unknown.isEmpty && server.tree == ["a"])
            }
        }

        // MARK: Fetching

        @Test(arguments: Sample.allCases) func itIsNotSent(_ sample: Sample) async throws {
            let content = sample.content
            try await storeAndLose(content)
            #expect(try fixture.scrub().found == ["rotten a"])
            // New permissions do not restore the content.
            chmod(fixture.path("a"), 0o600)
            for _ in 0..<2 {
                try await serving(in: fixture.directory) { server in
                    let client = try server.greetedClient()
                    let version = try #require(try client.list(details: true).entries.first?.version)
                    let block = UInt64(Limits.blockSize)
                    let requests = [
                        FetchRequest(id: 1, path: "a"),
                        FetchRequest(id: 2, path: "a", version: version, length: block),
                        FetchRequest(id: 3, path: "a", offset: block, version: version),
                        FetchRequest(id: 4, path: "a", digest: .sha256),
                    ]
                    for request in requests {
                        let fetched = try client.fetch(request)
                        #expect(fetched.outcome?.code == .contentLost && fetched.file == nil)
                        #expect(fetched.outcome?.message.contains("Push the file again") ?? false)
                    }
                }
            }
        }

        /// Reading a long file finds the damage, and the server knows of it from then on.
        @Test func whoReadsItFindsIt() async throws {
            try await storeAndLose(Self.long)
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                let first = try client.fetch(FetchRequest(id: 1, path: "a"))
                #expect(first.outcome?.code == .contentLost && first.file != nil && first.end == nil)
                let version = try #require(try client.list(details: true).entries.first?.version)
                let second = try client.fetch(
                    FetchRequest(id: 2, path: "a", version: version, length: UInt64(Limits.blockSize)))
                #expect(second.outcome?.code == .contentLost && second.file == nil)
                #expect(try client.codes(to: PartedUpload("a", Self.long).inOnePart) == [.staged])
            }
        }

        @Test func oneThatWasRestoredInPlaceIsSentAfterAScrub() async throws {
            try await storeAndLose([1, 2, 3])
            #expect(try fixture.scrub().found == ["rotten a"])
            fixture.rot("a", at: 2)
            #expect(try fixture.scrub().found.isEmpty)
            try await serving(in: fixture.directory) { server in
                let fetched = try server.greetedClient().fetch(FetchRequest(id: 1, path: "a"))
                #expect(fetched.content == [1, 2, 3])
            }
        }

        /// A user moves the file away, a scrub does not find it, and the user moves it back.
        @Test func oneThatComesBackIsStillRotten() async throws {
            try await storeAndLose(Self.long)
            #expect(try fixture.scrub().found == ["rotten a"])
            #expect(rename(fixture.path("a"), fixture.path("b")) == 0)
            #expect(try fixture.scrub().found.contains("missing a"))
            #expect(rename(fixture.path("b"), fixture.path("a")) == 0)
            #expect(try await fixture.push([("a", Self.long)]).map(\.code) == [.committed])
            #expect(content("a") == Self.long)
        }

        @Test func oneThatIsRemovedIsForgotten() async throws {
            try await storeAndLose([1, 2, 3])
            #expect(try fixture.scrub().found == ["rotten a"])
            try await serving(in: fixture.directory) { server in
                let client = try server.greetedClient()
                #expect(try client.remove("a").code == .completed)
            }
            _ = try fixture.scrub()
            let catalog = Catalog(path: fixture.path(".transfer/catalog.sqlite"), isDurable: false) { _ in }
            let hasRotten = try catalog.hasRotten()
            #expect(!hasRotten)
        }
    }
}
