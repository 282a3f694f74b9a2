internal import CLinux
import Glibc

/// A system call that failed.
package struct SystemError: Error, Equatable, Sendable {
    /// The number from errno.h.
    package let errno: Int32

    /// The call, as its man page is named.
    package let call: String

    package init(errno: Int32, call: String) {
        self.errno = errno
        self.call = call
    }

    /// What the C library says about the number.
    package var reason: String { String(cString: strerror(errno)) }

    /// Whether somebody else listens on the address.
    package var isAddressInUse: Bool { errno == EADDRINUSE }

    /// Whether a name was already taken.
    package var isExisting: Bool { errno == EEXIST }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(call): \(reason)" }
}

/// The one funnel for system calls: EINTR is retried, everything else is the caller's to judge.
///
/// - Returns: what the call returned, never negative.
@discardableResult
package func system<T: SignedInteger & Sendable>(_ call: String, _ body: () -> T) throws(SystemError) -> T {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw SystemError(errno: code, call: call) }
    }
}

/// As `system`, for descriptors that don't block: nothing when the call would have to wait.
package func nonBlocking<T: SignedInteger & Sendable>(_ call: String, _ body: () -> T) throws(SystemError) -> T? {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code == EAGAIN || code == EWOULDBLOCK { return nil }
        if code != EINTR { throw SystemError(errno: code, call: call) }
    }
}

/// Why a library that could be opened at run time is not used.
package enum LibraryRefusal: Error, Equatable, Sendable {
    /// It is not here, or is of no use on this machine.
    case absent
    /// It is here and does not do as it must; what, to go behind its name.
    case unfit(String)
}
