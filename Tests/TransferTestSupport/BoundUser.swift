import Glibc

/// A user who is subject to permissions, for tests that run as root.
package enum BoundUser {
    /// The user `nobody` on most systems; any user except root will do.
    private static let number: uid_t = 65_534

    private typealias Change = @convention(c) (uid_t) -> Int32

    /// Makes this user the owner of a file, if the tests run as root.
    package static func own(_ path: String) {
        if geteuid() == 0 { _ = chown(path, number, number) }
    }

    /// Makes file system calls as this user, on this thread alone (setfsuid(2)). Tests that do not run as root make
    /// them as their own user, who is subject to permissions, too.
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

    /// Looks the function up at run time, because no module has its header.
    private static func change(_ name: String, to user: uid_t) {
        guard let address = dlsym(nil, name) else { preconditionFailure("no \(name)") }
        _ = unsafeBitCast(address, to: Change.self)(user)
    }
}
