import Glibc

/// Seeds for tests that use different random values in each run. A test that fails reports its seed, and
/// `TRANSFER_SEED` repeats the run with that seed.
package enum Seeds {
    private static let given = getenv("TRANSFER_SEED").flatMap { UInt64(String(cString: $0)) }

    package static var one: UInt64 { given ?? .random(in: 0 ... .max) }

    package static func some(_ count: Int) -> [UInt64] { given.map { [$0] } ?? (0..<count).map { _ in one } }
}
