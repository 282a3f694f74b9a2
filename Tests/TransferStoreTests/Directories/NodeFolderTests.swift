import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// The folder of a server of a cluster.
@Suite struct NodeFolderTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    private var path: String { temporary.path("scratch") }

    private func refusal() -> Failure? {
        do throws(Failure) {
            _ = try NodeFolder(path: path)
            return nil
        } catch {
            return error
        }
    }

    @Test func oneServerAtATime() throws {
        let first = try NodeFolder(path: path)
        let error = try #require(refusal())
        #expect(error.code == .busy && error.message.contains("process \(getpid()) on "))
        #expect(error.message.hasSuffix("Name another folder with --scratch."))
        first.unlock()
        #expect(refusal() == nil)
    }

    @Test func theLockEndsWithTheServer() throws {
        do { _ = try NodeFolder(path: path) }
        #expect(refusal() == nil)
    }

    @Test func aDirectoryWithFilesIsRefused() throws {
        try FileStore(path: path).unlock()
        #expect(refusal()?.message.contains("a server without a cluster stores in it") == true)
    }

    @Test func aFolderOfOthersIsRefused() throws {
        _ = try NodeFolder(path: path)
        chmod(path + "/.transfer", 0o777)
        #expect(refusal()?.message.contains("other users may write") == true)
    }
}
