import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// Results for entries of an archive whose names are taken in the target, under each policy.
@Suite struct ArchiveConflictTests {
    private let sample: ArchiveSample

    init() throws {
        sample = try ArchiveSample()
        try sample.write("file", [1])
        try Files.check(symlink("file", "\(sample.source)/link"), "symlink")
        try Files.check(link("\(sample.source)/file", "\(sample.source)/name"), "link")
        try sample.write("folder/in", [2])
    }

    private static let policies: [ConflictPolicy] = [.keepBoth, .overwrite, .skip, .fail]

    private func said(_ server: RunningServer, _ path: String) -> String? {
        var target = [CChar](repeating: 0, count: 256)
        let count = readlink(server.directory.path("store/copy/\(path)"), &target, 255)
        return count < 0 ? nil : String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test(arguments: policies) func aFileHasTheNameOfALink(_ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/link"), [7])
            let pushed = try await sample.push(server) { $0.conflict = conflict }
            let line = pushed.lines.first { $0.hasPrefix("link ") }
            let isThere = server.stored("copy/link") == [7]
            switch conflict {
            case .keepBoth:
                #expect(
                    line == "link copy/link committed -> copy/link-1" && isThere && said(server, "link-1") == "file")
            case .overwrite: #expect(line == "link copy/link committed" && said(server, "link") == "file")
            case .skip: #expect(line == "link copy/link skipped" && isThere)
            case .fail: #expect(line == "link copy/link pathConflict" && isThere)
            }
            // A second push of the unchanged tree stores nothing twice.
            let before = entries(below: server.directory.path("store/copy"))
            _ = try await sample.push(server) { $0.conflict = conflict }
            #expect(entries(below: server.directory.path("store/copy")) == before)
        }
    }

    @Test(arguments: policies) func aFolderHasTheNameOfALink(_ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.makeDirectory(server.directory.path("store/copy/link"))
            let pushed = try await sample.push(server) { $0.conflict = conflict }
            #expect(isDirectory(server.directory.path("store/copy/link")))
            let result = pushed.reports.first { $0.form == .link }?.result
            let wanted: [ConflictPolicy: ResultCode] = [
                .keepBoth: .committed, .overwrite: .pathConflict, .skip: .skipped, .fail: .pathConflict,
            ]
            #expect(result == wanted[conflict])
        }
    }

    @Test(arguments: policies) func anotherLinkHasTheNameOfALink(_ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.makeDirectory(server.directory.path("store/copy"))
            try Files.check(symlink("elsewhere", server.directory.path("store/copy/link")), "symlink")
            _ = try await sample.push(server) { $0.conflict = conflict }
            #expect(said(server, "link") == (conflict == .overwrite ? "file" : "elsewhere"))
            #expect(said(server, "link-1") == (conflict == .keepBoth ? "file" : nil))
        }
    }

    @Test(arguments: policies) func aFileHasTheNameOfAFolder(_ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/folder"), [7])
            let pushed = try await sample.push(server) { $0.conflict = conflict }
            let results = pushed.reports.filter { ($0.destination ?? "").hasPrefix("copy/folder") }.map(\.result)
            if conflict == .overwrite {
                #expect(results == [.committed, .committed] && server.stored("copy/folder/in") == [2])
            } else {
                #expect(results == [.pathConflict, .pathConflict] && server.stored("copy/folder") == [7])
            }
        }
    }

    @Test(arguments: policies) func aLinkHasTheNameOfAFolder(_ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.makeDirectory(server.directory.path("store/copy"))
            try Files.makeDirectory(server.directory.path("store/other"))
            try Files.check(symlink("../other", server.directory.path("store/copy/folder")), "symlink")
            let pushed = try await sample.push(server) { $0.conflict = conflict }
            // No entry was stored through the link.
            #expect(entries(below: server.directory.path("store/other")) == [])
            let code = pushed.reports.first { $0.form == .folder && $0.destination == "copy/folder" }?.result
            #expect(code == (conflict == .overwrite ? .committed : .pathConflict))
        }
    }

    @Test(arguments: policies) func otherContentHasTheNameOfAnotherName(_ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/name"), [7])
            let pushed = try await sample.push(server) { $0.conflict = conflict }
            let line = pushed.lines.first { $0.hasPrefix("hard-link ") }
            let wanted: [ConflictPolicy: String] = [
                .keepBoth: "committed -> copy/name-1", .overwrite: "committed", .skip: "skipped", .fail: "pathConflict",
            ]
            #expect(line == wanted[conflict].map { "hard-link copy/name \($0)" })
            #expect(server.stored("copy/name") == (conflict == .overwrite ? [1] : [7]))
            let before = entries(below: server.directory.path("store/copy"))
            _ = try await sample.push(server) { $0.conflict = conflict }
            #expect(entries(below: server.directory.path("store/copy")) == before)
        }
    }

    /// If the first name of a file is refused, the client sends the next name as a file and links the others to it.
    @Test(arguments: [ConflictPolicy.skip, .fail]) func theNextNameTakesThePlaceOfTheFirst(
        _ conflict: ConflictPolicy
    ) async throws {
        try Files.check(Glibc.link("\(sample.source)/file", "\(sample.source)/third"), "link")
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/file"), [7])
            let pushed = try await sample.push(server) { $0.conflict = conflict }
            #expect(pushed.lines.contains("file copy/name committed"), "\(pushed.lines)")
            #expect(pushed.lines.contains("hard-link copy/third committed"))
            #expect(server.stored("copy/file") == [7] && server.stored("copy/third") == [1])
            #expect(pushed.reports.count == 7)
        }
        try await withServer { server in
            _ = try await sample.push(server)
            try Files.write("\(sample.back)/source/file", [7])
            let pulled = try await sample.pull(server) { $0.conflict = conflict }
            #expect(pulled.results["copy/name"] == .committed && pulled.results["copy/third"] == .committed)
            #expect(Files.read("\(sample.back)/source/third") == [1])
        }
    }

    /// A separate file with the same content is replaced by a hard link only if the policy is `overwrite`.
    @Test func theSameContentUnderAnotherName() async throws {
        try await withServer { server in
            let plain = [Upload.path("\(sample.source)/name", name: "copy/name")]
            _ = try await Archived(plain, to: server.address) { $0.archives = false }
            let kept = try await sample.push(server)
            #expect(kept.lines.contains("hard-link copy/name alreadyStored"))
            #expect(kept.reports.first { $0.form == .hardLink }?.message.contains("stays a separate file") ?? false)
            _ = try await sample.push(server) { $0.conflict = .overwrite }
            #expect(sample.stored(server) == TreeFacts(sample.source).lines)
        }
    }

    /// Two operands from different folders are pushed under one name.
    @Test func twoOperandsOfOneName() async throws {
        try Files.makeDirectory(sample.here.path("other"))
        try Files.check(symlink("elsewhere", sample.here.path("other/link")), "symlink")
        try await withServer { server in
            let uploads = [sample.source, sample.here.path("other")].map { Upload.path($0, name: "copy") }
            let pushed = try await Archived(uploads, to: server.address)
            #expect(pushed.failures == [])
            #expect(said(server, "link") == "file" && said(server, "link-1") == "elsewhere")
            #expect(pushed.reports.filter { $0.form == .folder }.count == 3)
        }
    }

    @Test(arguments: policies) func whatIsHere(_ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            _ = try await sample.push(server)
            let top = "\(sample.back)/source"
            try Files.write("\(top)/link", [7])
            try Files.write("\(top)/folder", [8])
            let pulled = try await sample.pull(server) { $0.conflict = conflict }
            let wanted: [ConflictPolicy: ResultCode] = [
                .keepBoth: .committed, .overwrite: .committed, .skip: .skipped, .fail: .pathConflict,
            ]
            #expect(pulled.results["copy/link"] == wanted[conflict])
            #expect(Files.read("\(top)/link") == (conflict == .overwrite ? [1] : [7]))
            #expect(pulled.results["copy/folder"] == (conflict == .overwrite ? .committed : .pathConflict))
            #expect(Files.read("\(top)/folder") == (conflict == .overwrite ? nil : [8]))
            if conflict == .keepBoth { #expect(entries(below: top).contains("link-1")) }
            let before = entries(below: top)
            _ = try await sample.pull(server) { $0.conflict = conflict }
            #expect(entries(below: top) == before)
        }
    }
}
