import TransferSystem

/// Runs `body`, which uses a port that was free a moment ago, and runs it again if the port is in use: other tests take
/// ports at the same time, and a port cannot be reserved for later. If the ports of ten attempts are all in use, that
/// is no coincidence, and the error is thrown.
package func whereThePortIsFree(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async throws {
    for _ in 1..<10 {
        do {
            return try await body()
        } catch let error as SystemError where error.isAddressInUse {
            continue
        }
    }
    try await body()
}
