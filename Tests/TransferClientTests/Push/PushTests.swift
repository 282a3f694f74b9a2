import Glibc
import Testing
import TransferClient
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite struct PushTests {
    @Test func aFileArrivesWithItsReport() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            try Files.write(source.path("photo.png"), [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
            let outcome = try await server.address("in/box").outcome([.path(source.path("photo.png"))])
            #expect(outcome.failure == nil)
            let report = try #require(outcome[source.path("photo.png")])
            #expect(report.result == .committed)
            #expect(report.storedPath == "in/box/photo.png")
            #expect(report.kind == .picture)
            #expect(report.size == 8)
            #expect(report.isDurable)
            #expect(report.uploadID != .none)
            #expect(report.digest == ContentDigester.digest(.xxh128, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
            #expect(server.stored("in/box/photo.png")?.count == 8)
        }
    }

    @Test func directoriesArriveWithAllThatIsInThem() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            let names = ["a", "b/c", "b/d/e/f", "b/d/empty", "z/z/z/z/z/z/z"]
            for name in names { try Files.write(source.path("tree/\(name)"), name == "b/d/empty" ? "" : name) }
            try Files.makeDirectory(source.path("tree/nothing"))
            let outcome = try await server.address.outcome([.path(source.path("tree"))])
            #expect(outcome.failure == nil)
            #expect(outcome.codes == Array(repeating: .committed, count: names.count))
            #expect(server.tree == names.map { "tree/\($0)" })
            for name in names where name != "b/d/empty" {
                #expect(server.stored("tree/\(name)") == Array(name.utf8))
            }
        }
    }

    @Test func anEmptyDirectoryIsNothing() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            let outcome = try await server.address.outcome([.path(source.path)])
            #expect(outcome.failure == nil)
            #expect(outcome.reports.isEmpty)
            #expect(outcome.connections == 1)
        }
    }

    @Test func memoryAndTextArrive() async throws {
        try await withServer { server in
            let uploads: [Upload] = [
                .bytes([0, 1, 2], name: "bytes.bin"), .text("Grüße", name: "deep/text.txt"), .bytes([], name: "empty"),
                .bytes(Array("x".utf8), name: "given", kind: .audio),
            ]
            let outcome = try await server.address.outcome(uploads)
            #expect(outcome.codes == Array(repeating: .committed, count: 4))
            #expect(outcome["bytes.bin"]?.kind == .file)
            #expect(outcome["deep/text.txt"]?.kind == .text)
            #expect(outcome["given"]?.kind == .audio)
            #expect(server.stored("deep/text.txt") == Array("Grüße".utf8))
            #expect(server.stored("empty") == [])
        }
    }

    @Test(arguments: ["照片.png", "😀👩‍👩‍👧", "two  spaces", "\"quoted\" 'twice'", "line\nline", "\u{301}mark", "-dash", "\\"])
    func oddNamesArrive(_ name: String) async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            try Files.write(source.path("in/\(name)"), name)
            try Files.write(source.path("alone/\(name)"), "alone")
            let outcome = try await server.address.outcome([
                .path(source.path("in")), .path(source.path("alone/\(name)")),
            ])
            #expect(outcome.codes == [.committed, .committed])
            #expect(server.stored("in/\(name)") == Array(name.utf8))
            #expect(server.stored(name) == Array("alone".utf8))
        }
    }

    @Test func aBadNameCostsOnlyItself() async throws {
        try await withServer { server in
            let names = ["../up", "/absolute", "", "a//b", ".transfer/x", "nul\0", String(repeating: "n", count: 256)]
            let uploads = names.map { Upload.text("x", name: $0) } + [.text("y", name: "good")]
            let outcome = try await server.address.outcome(uploads)
            #expect(outcome.failure == nil)
            #expect(outcome.codes.filter { $0 == .invalidPath }.count == names.count)
            #expect(outcome["good"]?.result == .committed)
            #expect(server.tree == ["good"])
        }
    }

    @Test func aTakenNameIsKeptBesides() async throws {
        try await withServer { server in
            let address = try server.address
            _ = try await address.outcome([.text("one", name: "n.txt")])
            let outcome = try await address.outcome([.text("two", name: "n.txt"), .text("one", name: "n.txt")])
            #expect(outcome.codes == [.committed, .alreadyStored])
            #expect(outcome.reports.map(\.storedPath) == ["n-1.txt", "n.txt"])
            let skipped = try await address.outcome([.text("three", name: "n.txt")]) { $0.conflict = .skip }
            #expect(skipped.codes == [.skipped])
            #expect(skipped.reports.map(\.storedPath) == [nil])
        }
    }

    /// The large upload is refused before its content is sent, while the small ones are still being stored.
    @Test func aLargeUploadIsSkippedAmongSmallOnes() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            try Files.write(source.path("large"), "")
            #expect(truncate(source.path("large"), 20 << 20) == 0)
            let address = try server.address
            _ = try await address.outcome([.text("taken", name: "large")])
            for round in 0..<10 {
                let small = (0..<50).map { Upload.text("\($0)", name: "small/\(round)/\($0)") }
                let outcome = try await address.outcome(small + [.path(source.path("large"))] + small) {
                    $0.conflict = .skip
                }
                #expect(outcome.failure == nil)
                #expect(outcome.reports.count == 101)
                #expect(outcome[source.path("large")]?.result == .skipped)
            }
        }
    }

    @Test func oneClientPushesSeveralTimesAtOnce() async throws {
        try await withServer { server in
            let client = try TransferClient(server: server.address, configuration: .patient)
            let events = (0..<6).map { push in
                client.push((0..<40).map { Upload.text("\(push) \($0)", name: "\(push)/\($0)") })
            }
            for event in events {
                let outcome = await Outcome(event)
                #expect(outcome.failure == nil)
                #expect(outcome.codes == Array(repeating: .committed, count: 40))
            }
            #expect(server.tree.count == 240)
        }
    }

    @MainActor @Test func eventsCanBeTakenOnTheMainActor() async throws {
        try await withServer { @MainActor server in
            var names: [String] = []
            let client = try TransferClient(server: server.address, configuration: .patient)
            for try await event in client.push([.text("1", name: "a"), .text("2", name: "b")]) {
                MainActor.assertIsolated()
                if case .finished(let report) = event { names.append(report.source) }
            }
            #expect(names == ["a", "b"])
            #expect(try await client.push(.text("3", name: "c")).map(\.result) == [.committed])
        }
    }
}

extension ContentDigester {
    static func digest(_ function: DigestFunction, _ bytes: [UInt8]) -> Digest {
        bytes.withUnsafeBytes { digest(function, $0) }
    }
}
