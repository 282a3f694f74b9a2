package import TransferModel
package import TransferObjects
import TransferSystem

/// The objects of a cluster by their numbers: stores new ones, and reads ranges of them.
/// Safe to use from any thread; each call may wait for the bucket.
final class ClusterObjects: Sendable {
    private let bucket: any ObjectStore
    private let ledger: any ClusterLedger
    let numbers: NodeNumbers
    /// The epochs whose keys are known. A cluster opens one each hour for each server, so they take little memory.
    private let epochs = Locked<[UInt64: EpochRow]>([:])

    init(_ bucket: any ObjectStore, _ ledger: any ClusterLedger, _ numbers: NodeNumbers) {
        (self.bucket, self.ledger, self.numbers) = (bucket, ledger, numbers)
    }

    /// Stores an object under a new number.
    ///
    /// - Returns: the number. The object has no row yet.
    func put(_ content: ObjectContent) throws(Failure) -> ObjectNumber {
        let number: ObjectNumber
        let text: String
        do throws(LedgerError) { (number, text) = try numbers.object() } catch { throw Failure(ledger: error) }
        guard let key = ObjectKey(text) else { throw Failure(.storageFailed, "'\(text)' is not the key of an object.") }
        do throws(ObjectError) { try bucket.put(key, content) } catch { throw Failure(storing: error) }
        return number
    }

    /// Stores an object of arrays, one after the other, and of the footer that describes them.
    func put(_ arrays: [[UInt8]], _ footer: ObjectFooter) throws(Failure) -> ObjectNumber {
        let tail = try footer.encoded()
        let content: ObjectContent
        do throws(ObjectError) { content = try ObjectContent(arrays + [tail]) } catch { throw Failure(object: error) }
        return try put(content)
    }

    /// Stores an object of bytes that are read piece by piece, and of the footer that describes them.
    ///
    /// - Parameters:
    ///   - size: the number of bytes in front of the footer.
    ///   - read: fills a buffer with bytes from an offset on.
    func put(
        _ size: UInt64, _ footer: ObjectFooter,
        _ read: @escaping (_ offset: UInt64, _ space: UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) -> ObjectNumber {
        let tail = try footer.encoded()
        let source = ObjectContent.Source.pieces { (offset, space) throws(ObjectError) in
            guard offset < size else {
                // Trap: the content has `tail.count` bytes behind `size`.
                let rest = tail[Int(offset - size)...].prefix(space.count)
                space.copyBytes(from: rest)
                return rest.count
            }
            let count = Int(clamping: min(UInt64(space.count), size - offset))
            do throws(Failure) {
                try read(offset, UnsafeMutableRawBufferPointer(rebasing: space[..<count]))
                return count
            } catch {
                throw ObjectError(.damaged, error.message)
            }
        }
        let content: ObjectContent
        do throws(ObjectError) {
            content = try ObjectContent(size: size + UInt64(tail.count), from: source)
        } catch {
            throw Failure(object: error)
        }
        return try put(content)
    }

    /// Fills a buffer with bytes of an object.
    func read(
        _ number: ObjectNumber, from start: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Failure) {
        let key = try key(of: number)
        let (end, overflow) = start.addingReportingOverflow(UInt64(buffer.count))
        guard !overflow else {
            throw Failure(.contentLost, "An extent of object \(number.rawValue) is not in the object.")
        }
        do throws(ObjectError) {
            try bucket.get(key, start..<end, into: buffer)
        } catch {
            throw Failure(object: error)
        }
    }

    func delete(_ number: ObjectNumber) throws(Failure) {
        let key = try key(of: number)
        do throws(ObjectError) { try bucket.delete(key) } catch { throw Failure(object: error) }
    }

    func key(of number: ObjectNumber) throws(Failure) -> ObjectKey {
        let epoch: EpochRow
        if let known = epochs.withLock({ $0[number.epoch] }) {
            epoch = known
        } else {
            let found: EpochRow?
            do throws(LedgerError) { found = try ledger.epochs([number.epoch]).first } catch {
                throw Failure(ledger: error)
            }
            guard let found else {
                throw Failure(.contentLost, "The database does not know where object \(number.rawValue) is.")
            }
            epochs.withLock { $0[number.epoch] = found }
            epoch = found
        }
        guard let key = ObjectKey(number.key(in: epoch)) else {
            throw Failure(.storageFailed, "'\(epoch.key)' is not the beginning of a key.")
        }
        return key
    }
}

extension Failure {
    package init(ledger error: LedgerError) {
        switch error.reason {
        case .conflict, .epochClosed, .unknown, .unavailable, .readOnly: self.init(.busy, error.message)
        case .full: self.init(.insufficientStorage, error.message)
        case .damaged, .refused: self.init(.storageFailed, error.message)
        }
    }

    /// An object was not stored. The client still has it, and may send it again.
    fileprivate init(storing error: ObjectError) {
        if error.reason == .damaged { self.init(.busy, error.message) } else { self.init(object: error) }
    }

    package init(object error: ObjectError) {
        switch error.reason {
        case .busy, .unreachable: self.init(.busy, error.message, retryAfter: error.wait)
        case .full: self.init(.insufficientStorage, error.message)
        case .notFound, .damaged: self.init(.contentLost, error.message)
        case .untrusted, .refused, .forbidden, .noBucket, .clockSkew, .misconfigured:
            self.init(.storageFailed, error.message)
        }
    }
}
