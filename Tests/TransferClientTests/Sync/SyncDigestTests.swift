import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// Digests are not in the lists of a sync, and count all the same.
extension SyncTests {
    /// Changes a byte, as a bad disk does: nothing else tells of it.
    private func damage(_ place: String) {
        var status = stat()
        #expect(lstat(place, &status) == 0)
        let file = open(place, O_WRONLY | O_CLOEXEC)
        defer { close(file) }
        #expect(pwrite(file, [0xEE], 1, 1) == 1)
        #expect(futimens(file, [status.st_atim, status.st_mtim]) == 0)
    }

    @Test func whatArrivesIsComparedWithWhatWasAcknowledged() async throws {
        try write("a", [1, 2, 3])
        try await withServer { server in
            _ = try await push(server)
            #expect(try await pull(server).failures == [])
            for name in ["b", "c"] { try write(name, [4, 5, 6]) }
            _ = try await push(server)
            damage(server.directory.path("store/copy/b"))
            let pulled = try await pull(server)
            #expect(pulled.failures.count == 1 && pulled.failures[0].hasPrefix("new b: "), "\(pulled.failures)")
            #expect(Files.read("\(back)/b") == nil && Files.read("\(back)/c") == [4, 5, 6])
        }
    }

    /// A file that was only touched is not sent, nor one that was renamed, in either direction.
    @Test func whatWasTouchedOrRenamedIsNotSent() async throws {
        for name in ["touched", "renamed"] { try write("d/\(name)", SplitMix64.bytes(seed: 4, 5000)) }
        try write("d/changed", [1])
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            age("\(source)/d/touched")
            age("\(source)/d/changed")
            try write("d/changed", [2])
            #expect(rename("\(source)/d/renamed", "\(source)/r") == 0)
            for synced in [try await push(server) { $0.deletes = true }, try await pull(server) { $0.deletes = true }] {
                #expect(synced.failures == [])
                #expect(synced.lines.filter { !$0.hasPrefix("attributes d") } == ["changed d/changed", "moved r"])
                #expect(synced.lines.contains("attributes d/touched"))
            }
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }
}
