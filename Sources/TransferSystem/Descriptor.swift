import Glibc

/// Owns a file descriptor and closes it once. A close is never retried: on Linux the descriptor is gone even after
/// EINTR (close(2)), and by then its number may be somebody else's.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes ownership.
    package init(_ number: Int32) {
        self.number = number
    }

    /// Gives ownership away without closing.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    deinit {
        close(number)
    }
}
