import Glibc

/// The size of attacks: small in every run of the tests, full for `make attack`, and light under a sanitizer, which
/// makes everything many times slower.
package enum AttackScale {
    private static let name = getenv("TRANSFER_ATTACK").map { String(cString: $0) }

    package static var isFull: Bool { name == "full" }

    /// Whether the tests run under a sanitizer.
    package static var isLight: Bool { name == "light" }

    package static func count(_ small: Int, full: Int) -> Int {
        switch name {
        case "full": full
        case "light": max(1, small / 10)
        default: small
        }
    }

    /// Raises this process's limit of descriptors as far as possible, because a crowd of clients has thousands of
    /// sockets.
    package static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
