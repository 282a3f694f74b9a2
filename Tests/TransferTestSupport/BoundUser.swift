import Glibc

/// A user whom permissions bind, to test with where tests are root's.
package enum BoundUser {
    /// nobody(7) on most systems; any user who is not root will do.
    private static let number: uid_t = 65_534

    private typealias Change = @convention(c) (uid_t) -> Int32

    /// Gives something to that user.
    package static func own(_ path: String) {
        if geteuid() == 0 { _ = chown(path, number, number) }
    }

    /// Makes calls of the file system as that user, on this thread alone (setfsuid(2)): whoever isn't root is one himself.
    package static func run<T>(_ body: () throws -> T) rethrows -> T {
        guard geteuid() == 0 else { return try body() }
        change("setfsgid", to: number)
        change("setfsuid", to: number)
        defer {
            change("setfsuid", to: 0)
            change("setfsgid", to: 0)
        }
        return try body()
    }

    /// The header is in no module.
    private static func change(_ name: String, to user: uid_t) {
        guard let address = dlsym(nil, name) else { preconditionFailure("no \(name)") }
        _ = unsafeBitCast(address, to: Change.self)(user)
    }
}
