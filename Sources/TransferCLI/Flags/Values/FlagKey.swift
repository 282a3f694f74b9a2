/// A flag, the type of value that it has, and a function that reads the value. Commands read values by keys, so that
/// the name and the default of each flag are defined once.
///
/// `Fault` is `Never` if the parser has already refused all invalid values.
struct FlagKey<Value, Fault: FlagFault>: Sendable {
    let flag: Flag

    let read: @Sendable (ParsedArguments, Flag) throws(Fault) -> Value

    init(_ flag: Flag, _ read: @escaping @Sendable (ParsedArguments, Flag) throws(Fault) -> Value) {
        (self.flag, self.read) = (flag, read)
    }
}

/// An error that reading a value can throw.
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
    /// The value of a flag that the parser has checked.
    subscript<Value>(key: FlagKey<Value, Never>) -> Value { key.read(self, key.flag) }

    /// The value of a flag, or a usage error.
    subscript<Value>(key: FlagKey<Value, UsageError>) -> Value {
        get throws(UsageError) { try key.read(self, key.flag) }
    }

    /// The value of a flag, or the given default if the command does not have the flag.
    subscript<Value>(key: FlagKey<Value, Never>, default value: Value) -> Value {
        takes(key.flag) ? self[key] : value
    }

    /// Whether the flag has a value that is not its default.
    func isSet<Value, Fault>(_ key: FlagKey<Value, Fault>) -> Bool { isSet(key.flag) }
}
