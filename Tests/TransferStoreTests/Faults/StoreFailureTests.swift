import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem

@testable import TransferStore

@Suite struct StoreFailureTests {
    @Test(
        arguments: [
            (ENOSPC, .insufficientStorage), (EDQUOT, .quotaExceeded), (EFBIG, .uploadTooLarge),
            (EMFILE, .busy), (ENFILE, .busy), (ENOMEM, .busy), (ENAMETOOLONG, .invalidPath),
            (EILSEQ, .invalidPath), (EINVAL, .invalidPath), (ELOOP, .invalidPath), (EXDEV, .invalidPath),
            (ENOTDIR, .pathConflict), (EISDIR, .pathConflict), (EIO, .storageFailed), (EROFS, .storageFailed),
            (EACCES, .storageFailed), (EPERM, .storageFailed), (ENOENT, .storageFailed), (EMLINK, .storageFailed),
        ] as [(Int32, ResultCode)])
    func code(errno: Int32, code: ResultCode) {
        let error = Failure(SystemError(errno: errno, call: "write"), doing: "write the content")
        #expect(error.code == code)
        #expect(!error.code.isSuccess)
        #expect(error.message.hasPrefix("Could not write the content: "))
        #expect(error.message.hasSuffix("."))
    }

    @Test func whatIsNotKnownNamesTheCall() {
        let error = Failure(SystemError(errno: EACCES, call: "openat"), doing: "open the directory")
        #expect(error.message == "Could not open the directory: openat: Permission denied.")
    }

    /// The disk has room, but the file system has no room for extended attributes.
    @Test(arguments: [ENOSPC, EDQUOT, E2BIG, ERANGE]) func extendedAttributesThatDoNotFitAreNoFullDisk(_ errno: Int32) {
        let error = Failure(SystemError(errno: errno, call: "fsetxattr"), doing: "set the file's attributes")
        #expect(error.code == .storageFailed)
        #expect(
            error.message
                == "Could not set the file's attributes: the server's file system has no room for its extended "
                + "attributes.")
        #expect(error.local.code == .targetFailed && error.local.message.contains("this machine's file system"))
    }

    @Test func whatHelpsPeopleIsSaid() {
        func message(_ errno: Int32) -> String { Failure(SystemError(errno: errno, call: "x"), doing: "y").message }
        #expect(message(ENOSPC) == "Could not y: the server's disk is full.")
        #expect(message(ELOOP).contains("symbolic link"))
        #expect(message(EXDEV).contains("another file system"))
        #expect(message(ENOMEM).contains("memory"))
        #expect(message(EIO) == "Could not y: the server's disk failed (x). The kernel's log on the server says more.")
        #expect(message(EROFS).contains("read-only") && message(EROFS).contains("mount it for writing"))
        #expect(message(EMFILE).contains("file handles"))
    }
}
