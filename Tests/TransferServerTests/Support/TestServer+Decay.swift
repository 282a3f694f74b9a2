import CLinux
import Glibc
import Testing
import TransferCatalog
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake
@testable import TransferServer

extension TestServer {
    /// Changes a byte of a stored file like a decaying disk. The time of change reveals the write nevertheless, so the
    /// catalog's entry is changed to match.
    func decay(_ name: String, at offset: Int) throws {
        let path = directory.path("store/" + name)
        var before = stat()
        #expect(stat(path, &before) == 0)
        let known = server.core.intake.known
        known.indexIfNeeded()
        let byte = try #require(Self.read(path).map { $0[offset] })
        let file = open(path, O_WRONLY)
        #expect(pwrite(file, [byte ^ 1], 1, offset) == 1)
        #expect(futimens(file, [before.st_atim, before.st_mtim]) == 0)
        close(file)
        let relative = try RelativePath(name)
        var entry = try #require(known.entries(at: [name]).first?.first)
        entry.version = server.core.store.version(at: relative)
        known.record([entry])
    }
}
