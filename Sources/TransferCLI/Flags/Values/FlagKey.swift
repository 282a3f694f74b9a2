/// A flag with the type of what it says, and how that is read. Commands ask for values by these, so no name stands twice, a
/// default stands where the flag is defined, and a value has the type that it is used as.
///
/// `Fault` is `Never` where every value is right that the parser lets pass.
struct FlagKey<Value, Fault: FlagFault>: Sendable {
    let flag: Flag

    let read: @Sendable (ParsedArguments, Flag) throws(Fault) -> Value

    init(_ flag: Flag, _ read: @escaping @Sendable (ParsedArguments, Flag) throws(Fault) -> Value) {
        (self.flag, self.read) = (flag, read)
    }
}

/// What reading a value can end with.
protocol FlagFault: Error {
    var usage: UsageError { get }
}

extension UsageError: FlagFault {
    var usage: UsageError { self }
}

extension Never: FlagFault {
    var usage: UsageError { switch self {} }
}

extension ParsedArguments {
    /// What a flag says.
    subscript<Value>(key: FlagKey<Value, Never>) -> Value { key.read(self, key.flag) }

    /// What a flag says.
    subscript<Value>(key: FlagKey<Value, UsageError>) -> Value {
        get throws(UsageError) { try key.read(self, key.flag) }
    }

    /// The same, or what another command does without, which doesn't have the flag.
    subscript<Value>(key: FlagKey<Value, Never>, default value: Value) -> Value {
        takes(key.flag) ? self[key] : value
    }

    /// Whether anything but the definition says something.
    func isSet<Value, Fault>(_ key: FlagKey<Value, Fault>) -> Bool { isSet(key.flag) }
}
