import Glibc
import Testing
import TransferSystem

@Suite struct SystemErrorTests {
    @Test func interruptedCallsAreMadeAgain() throws {
        var results: [Int32] = [-1, -1, 7]
        let call = {
            errno = EINTR
            return results.removeFirst()
        }
        #expect(try system("call", call) == 7)
        results = [-1, -1, 8]
        #expect(try nonBlocking("call", call) == 8)
    }

    @Test(arguments: [EAGAIN, EWOULDBLOCK]) func waitingIsNoErrorForThoseThatDoNotBlock(code: Int32) throws {
        let call = {
            errno = code
            return -1
        }
        #expect(try nonBlocking("call", call) == nil)
        #expect(throws: SystemError(errno: code, call: "call")) { try system("call", call) }
    }

    @Test func saysWhatWentWrong() {
        let error = SystemError(errno: ENOENT, call: "open")
        #expect(error.description == "open: No such file or directory")
        #expect(SystemError(errno: EADDRINUSE, call: "bind").isAddressInUse)
        #expect(SystemError(errno: EEXIST, call: "open").isExisting)
        #expect(!error.isAddressInUse && !error.isExisting)
    }
}
