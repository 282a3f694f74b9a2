import TransferIntake
import TransferModel
import TransferStore

/// Unfinished uploads don't stay for ever.
extension ServerCore {
    /// Removes those that are too old, and says what is left.
    ///
    /// - Parameter leftovers: whether to remove what nobody can resume, which is only known before the first upload.
    func expire(leftovers: Bool) {
        do throws(StoreError) {
            let (removed, left) = try intake.expire(leftovers: leftovers)
            if removed.count > 0 { observability.log.write([.expired(removed)]) }
            if left.count > 0 { observability.log.write([.unfinished(left)]) }
        } catch {
            observability.log.write([.expiryFailed(error)])
        }
        intake.forgetUnfinished()
    }
}
