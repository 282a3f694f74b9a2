import Glibc

/// How large attacks are: small in every run of the tests, in full for `make attack`.
package enum AttackScale {
    package static let isFull = getenv("TRANSFER_ATTACK").map { String(cString: $0) == "full" } ?? false

    package static func count(_ small: Int, full: Int) -> Int { isFull ? full : small }

    /// Lets this process have as many descriptors as it may: a crowd has thousands of sockets.
    package static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
