package import TransferDatabase
package import TransferModel

extension MailLedger {
    /// What is for somebody, in order of the numbers.
    ///
    /// - Parameters:
    ///   - number: only what has a larger one.
    ///   - limit: deliveries at most.
    ///   - withEnded: also what nobody can fetch any more.
    package func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool = false
    ) throws(DatabaseError) -> [Delivery] {
        try read { (connection) throws(DatabaseError) in
            try connection.inbox(of: recipient, after: number, limit: limit, withEnded: withEnded)
        }
    }

    /// What somebody has sent, in order of the numbers, whatever became of it.
    package func sent(by sender: String, after number: UInt64, limit: Int) throws(DatabaseError) -> [Delivery] {
        try read { (connection) throws(DatabaseError) in try connection.sent(by: sender, after: number, limit: limit) }
    }

    /// - Returns: nothing where that upload was never for this person.
    package func delivery(of id: UploadID, to recipient: String) throws(DatabaseError) -> Delivery? {
        try read { (connection) throws(DatabaseError) in try connection.delivery(of: id, to: recipient) }
    }

    /// The same of several: those that there are.
    package func deliveries(of ids: [UploadID], to recipient: String) throws(DatabaseError) -> [Delivery] {
        try read { (connection) throws(DatabaseError) in
            try connection.together { () throws(DatabaseError) in
                var found: [Delivery] = []
                for id in ids {
                    if let delivery = try connection.delivery(of: id, to: recipient) { found.append(delivery) }
                }
                return found
            }
        }
    }

    /// The largest number that any delivery has had.
    package func newestNumber() throws(DatabaseError) -> UInt64 {
        try read { (connection) throws(DatabaseError) in try connection.newestNumber() }
    }

    /// What a client has sent and still waits: how many uploads, and bytes of the client's quota.
    package func open(from client: UInt64) throws(DatabaseError) -> (count: Int, bytes: UInt64) {
        try read { (_, totals) throws(DatabaseError) in
            let total = totals.sent(by: client)
            return (total.count, total.bytes)
        }
    }

    /// Where the content is that somebody can still have.
    package func openPaths() throws(DatabaseError) -> Set<RelativePath> {
        try read { (connection) throws(DatabaseError) in try connection.openPaths() }
    }
}
