import TransferSystem

/// Does what wants a port that was free a moment ago, and once more where somebody else has taken it: tests beside this one
/// take ports too, and nobody can keep one for later. That all of several are taken is no accident.
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
