internal import CLinux
import Glibc

/// The failure of a system call.
package struct SystemError: Error, Equatable, Sendable {
    /// The error number from errno.h.
    package let errno: Int32

    /// The name of the call in the manual pages.
    package let call: String

    package init(errno: Int32, call: String) {
        self.errno = errno
        self.call = call
    }

    /// The C library's description of the error.
    package var reason: String { String(cString: strerror(errno)) }

    /// Whether another socket has the address.
    package var isAddressInUse: Bool { errno == EADDRINUSE }

    /// Whether the name exists already.
    package var isExisting: Bool { errno == EEXIST }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(call): \(reason)" }
}

/// Runs a system call. EINTR repeats the call; any other error is thrown.
///
/// - Returns: the call's result, never negative.
@discardableResult
package func system<T: SignedInteger & Sendable>(_ call: String, _ body: () -> T) throws(SystemError) -> T {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw SystemError(errno: code, call: call) }
    }
}

/// Runs a call on a non-blocking descriptor, as `system` does. Returns nil if the call would block.
package func nonBlocking<T: SignedInteger & Sendable>(_ call: String, _ body: () -> T) throws(SystemError) -> T? {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code == EAGAIN || code == EWOULDBLOCK { return nil }
        if code != EINTR { throw SystemError(errno: code, call: call) }
    }
}

/// The reason why an optional library is not used.
package enum LibraryRefusal: Error, Equatable, Sendable {
    /// The library is not installed, or is useless on this machine.
    case absent
    /// The library does not behave as it must; the reason completes a sentence that begins with its name.
    case unfit(String)
}
