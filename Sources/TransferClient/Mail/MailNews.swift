/// What comes of a question for a mailbox.
package enum MailNews: Sendable {
    /// One that is new, or has changed.
    case delivery(Delivery)
    /// All that there was, was told.
    case listed
}
