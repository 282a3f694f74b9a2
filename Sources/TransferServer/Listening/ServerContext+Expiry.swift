import Glibc
import TransferModel
import TransferStore

/// Unfinished uploads don't stay for ever.
extension ServerContext {
    /// Removes those that are too old, and says what is left.
    ///
    /// - Parameter leftovers: whether to remove what nobody can resume, which is only known before the first upload.
    func expire(leftovers: Bool) {
        do throws(StoreError) {
            var removed = leftovers ? try store.removeLeftovers() : FileStore.Unfinished()
            let moment = time(nil) - Int(settings.keepUnfinished.nanoseconds / 1_000_000_000)
            let old = try store.removeUnfinished(before: moment) { [assemblies] in assemblies[$0] != nil }
            removed.count += old.count
            removed.bytes += old.bytes
            if removed.count > 0 { log.write([.expired(removed)]) }
            let left = try store.unfinished()
            if left.count > 0 { log.write([.unfinished(left)]) }
        } catch {
            log.write([.expiryFailed(error)])
        }
        forgetUnfinished()
    }

    /// Lets the catalog forget the unfinished uploads whose parts are gone: taken back, refused, or too old.
    func forgetUnfinished() {
        known.forgetUnfinished { [store, assemblies] in assemblies[$0] != nil || store.hasPart($0) }
    }
}
